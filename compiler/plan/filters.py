# SPDX-License-Identifier: Apache-2.0
"""The constants of a group: how they are packed, and how many words of the GLB its filters take."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Convolution, Depthwise, Filtered, Group, Grouped, Pointwise, Separable
from eyrie.compiler.plan.mappings import Access, cheapest, job_key, mappings_of, remembered, stays
from eyrie.compiler.target.limits import filter_sets, row_stationary_groups, single_tile, slides, tile_words
from eyrie.compiler.target.mapping import Mapping, Packing, pass_groups
from eyrie.compiler.target.packing import pack_convolution, pack_depthwise, pack_pointwise, pack_table, tap_channels
from eyrie.model.config import WORD_CHANNELS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode

PLACES = 2  # of slices that come in turn: one is used while the next one comes


def pack(group: Filtered, packing: Packing, config: AcceleratorConfig) -> np.ndarray:
    """uint64 [tiles, groups, ...]; of a pointwise pass [tiles, groups, words of a tile]."""
    if packing.mode == ArrayMode.CONVOLUTION:
        filters = group.filters.transpose(0, 3, 1, 2)
        sets = filter_sets(config)
        packed = pack_convolution(filters, WORD_CHANNELS, packing.tile // sets, 1, sets, split=False)
        return packed[:, : row_stationary_groups(group.source.shape[2])]
    filters = group.spread() if isinstance(group, Grouped) else group.filters
    return pack_pointwise(tap_channels(filters) if filters.ndim == 4 else filters, tile_words(packing.tile))


def in_turn(words: int, slices: int) -> int:
    """What constants take of which slices come in turn, each for its job, into PLACES places."""
    each = words // slices
    return min(PLACES, slices) * (each + each % 2) if slices > 1 else words


@dataclass(frozen=True, eq=False)
class Packed:
    """The constants of a group as GLB words, each packed once, and the mappings for its filters, however many
    arrangements are tried.

    part: of which a job is: the group, or a slice of it; rows: of each job; access: of its jobs
    """

    group: Group
    part: Group
    rows: list[int]
    access: Access
    config: AcceleratorConfig
    _filters: dict[Packing, np.ndarray] = field(default_factory=dict)

    @cached_property
    def depthwise(self) -> np.ndarray:
        """Return the words of the depthwise work of a group, uint64 [groups, 18] for a kernel of 3 x 3."""
        group = self.group
        assert isinstance(group, (Depthwise, Separable))
        filters = np.zeros((*group.window.dense, group.depthwise.shape[-1]), group.depthwise.dtype)
        down, across = group.window.dilation
        filters[::down, ::across] = group.depthwise
        return pack_depthwise(filters, pack_table(group.middle, word_groups(filters.shape[-1])))

    @cached_property
    def table(self) -> np.ndarray:
        """Of a group with filters, uint64 [blocks, 9]."""
        group = self.group
        assert isinstance(group, Filtered)
        return pack_table(group.table, word_groups(len(group.filters)))

    @cached_property
    def first(self) -> dict[int, Mapping]:
        """Return the cheapest mapping of the jobs, by rows, of a group without filters."""
        return {rows: mappings_of(self.config, self.part, rows, self.access)[0] for rows in set(self.rows)}

    @cached_property
    def stay(self) -> dict[int, Mapping]:
        """Return the mappings of the jobs, by rows, with the packing that suits all jobs best if all filters stay;
        nothing if there is none.

        Of equals the smaller: what reads the output waits for the sums of the last tile only. But of pointwise work
        each tile reads the ifmap, from banks that others read, too.
        """
        least = {r: cheapest(self.config, self.group, r, self.access) for r in set(self.rows)}
        cycles = {
            packing: sum(least[r][packing].cycles for r in self.rows)
            for packing in set.intersection(*map(set, least.values()))
        }
        larger = -1 if isinstance(self.group, Pointwise) else 1
        best = min(cycles, key=lambda packing: (cycles[packing], larger * packing.tile, packing.mode), default=None)
        return {rows: found[best] for rows, found in least.items()} if best else {}

    @cached_property
    def come(self) -> list[tuple[dict[int, Mapping], int]]:
        """Return the mappings of the jobs, by rows, that take the same packed filters if these come while a job runs,
        and the words that the filters need; cheapest first, of equals those that use no filters again: they begin with
        the first chunk."""
        part, rows = self.part, self.rows
        assert isinstance(part, Filtered)
        if len(set(rows)) == 1:
            known = mappings_of(self.config, part, rows[0], self.access)
            found = [{rows[0]: mapping} for mapping in sorted(known, key=lambda m: (m.cycles, stays(m)))]
        else:
            least = {r: cheapest(self.config, part, r, self.access) for r in rows}
            found = [{r: least[r][packing] for r in rows} for packing in set.intersection(*map(set, least.values()))]
            larger = -1 if isinstance(part, Pointwise) else 1
            found.sort(key=lambda of: (sum(of[r].cycles for r in rows), larger * of[rows[0]].tile))
        return [(of, max(least_words(part, mapping) for mapping in of.values())) for of in found]

    def filters(self, packing: Packing) -> np.ndarray:
        """As pack()."""
        if packing not in self._filters:
            assert isinstance(self.group, Filtered)
            self._filters[packing] = pack(self.group, packing, self.config)
        return self._filters[packing]


def filter_words(group: Filtered, mode: ArrayMode, count: int) -> int:
    """All of a group's filters, which padding makes so many."""
    groups = pass_groups(group, mode)
    if mode == ArrayMode.CONVOLUTION:
        return groups * count * group.window.taps // 2  # a word: two filters' half
    return groups * tile_words(count)


def resident_words(group: Filtered, config: AcceleratorConfig) -> int:
    """All of a group's filters, packed as takes least."""
    whole = word_groups(len(group.filters)) * 8
    groups = pass_groups(group, ArrayMode.POINTWISE)
    dealt = whole if isinstance(group, Grouped) else single_tile(config, len(group.filters), groups)
    words = filter_words(group, ArrayMode.POINTWISE, dealt)
    if isinstance(group, Convolution) and filter_sets(config) and slides(group.window):
        words = min(words, filter_words(group, ArrayMode.CONVOLUTION, whole))
    return words


def least_words(group: Filtered, mapping: Mapping) -> int:
    """What a group that is one job needs for its filters: all; or a chunk beside those that are in use, which are a
    tile's where inner blocks use them again."""
    count = mapping.tile * mapping.tiles
    words = filter_words(group, mapping.mode, count)
    if stays(mapping):
        return words
    groups = pass_groups(group, mapping.mode)
    each = words // (groups * mapping.tiles)  # of a tile and a channel group
    return min(words, ((groups if mapping.blocks.inner > 1 else 1) + 1) * each)


_smallest: dict[tuple, int] = {}


def smallest_words(config: AcceleratorConfig, group: Filtered, rows: int, access: Access) -> int:
    """least_words() of the mapping that needs least. Raises DoesNotFit where there is no mapping."""
    return remembered(
        _smallest,
        job_key(config, group, rows, access),
        lambda: min(least_words(group, mapping) for mapping in mappings_of(config, group, rows, access)),
    )

# SPDX-License-Identifier: Apache-2.0
"""Mappings of a group's jobs, found once; why there is none."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Convolution, Depthwise, Group, Grouped, Separable
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.target.mapping import Mapping, Packing, mappings
from eyrie.model.config import AcceleratorConfig
from eyrie.model.messages import times

T = TypeVar("T")
MOST_REMEMBERED = 20000  # then all are forgotten

_mappings: dict[tuple, list[Mapping]] = {}
_cheapest: dict[tuple, dict[Packing, Mapping]] = {}


def remembered(known: dict[tuple, T], key: tuple, make: Callable[[], T]) -> T:
    """What is made once for a key, as long as it is known."""
    if key not in known:
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[key] = make()
    return known[key]


class Access(NamedTuple):
    """How the jobs of a fused operator find their operands.

    whole     all its feature maps lie in the GLB as a whole, if one job makes all rows
    refetch   its filters come from DRAM for each job again
    in_place  its output overwrites its input
    """

    whole: bool = True
    refetch: bool = False
    in_place: bool = False


WHOLE = Access()


def access_of(segment: Segment, n: int) -> Access:
    """Return the access of fused operator n of the network."""
    nest = segment.nest
    refetch = nest.refetch and n == segment.last - 1
    return Access(nest.whole or refetch, refetch, nest.in_place)


def job_key(config: AcceleratorConfig, group: Group, rows: int, access: Access) -> tuple:
    """Return a key that is equal for jobs with the same mappings."""
    whole = access.whole and rows == group.map_shape[0]
    return config, group.geometry, rows, access._replace(whole=whole)


def mappings_of(config: AcceleratorConfig, group: Group, rows: int, access: Access = WHOLE) -> list[Mapping]:
    """mappings(), remembered; raises DoesNotFit where there is none.

    In place only those are right that have all pixels of the job's image in flight, and read them with the
    first tile of filters only: else an output would take words that the next block or tile still reads. Filters that
    come again for each job are used by a single outer block.
    """

    def suitable() -> list[Mapping]:
        found = mappings(config, group, rows, access.whole and rows == group.map_shape[0])
        if access.in_place:
            return [m for m in found if _reads_once(group, m)]
        return [m for m in found if not stays(m)] if access.refetch else found

    found = remembered(_mappings, job_key(config, group, rows, access), suitable)
    if not found:
        raise _unmapped(config, group, rows)
    return found


def cheapest(config: AcceleratorConfig, group: Group, rows: int, access: Access) -> dict[Packing, Mapping]:
    """The first of mappings_of() for each packing of the filters."""

    def first_ones() -> dict[Packing, Mapping]:
        found: dict[Packing, Mapping] = {}
        for mapping in mappings_of(config, group, rows, access):
            found.setdefault(mapping.packing, mapping)
        return found

    return remembered(_cheapest, job_key(config, group, rows, access), first_ones)


def stays(mapping: Mapping) -> bool:
    """Whether a pass uses filters again when it has used all."""
    return mapping.blocks.outer > 1


def _unmapped(config: AcceleratorConfig, group: Group, rows: int) -> DoesNotFit:
    """Why a group has no mapping."""

    def failure(what: str, remedy: str = "") -> DoesNotFit:
        what = f"group {group.name}: {what}"
        return DoesNotFit(what, layer=group.name, result=group.output.name, remedy=remedy)

    if group.images:
        return failure(f"no mapping of {group.images} images at once fits the PEs")
    if isinstance(group, (Convolution, Grouped)) and not group.averaged:
        return failure(
            f"a {times(group.window.kernel)} kernel, {group.window}, over {group.source.shape[2]} channels "
            "goes beyond the loops of a stream",
            remedy="use a smaller kernel or fewer channels",
        )
    return failure(
        f"no mapping of {rows} output rows fits the PEs: psum_words = {config.psum_words}, "
        f"ifmap_words = {config.ifmap_words}, filter_words = {config.filter_words}, "
        f"word_buffer_words = {config.word_buffer_words}",
        remedy="use larger ones",
    )


def _reads_once(group: Group, mapping: Mapping) -> bool:
    """Whether all that a job reads of an image has been read before its first output is written, or each word before
    its own."""
    if isinstance(group, Elementwise):
        return group.in_place
    blocks = mapping.blocks
    once = mapping.tiles == 1 or isinstance(group, (Depthwise, Separable, Grouped))  # a tile of a Grouped its channels
    in_flight = blocks.outer == 1 and (blocks.inner == 1 or blocks.images > 0)
    return in_flight and once


def first_tile(group: Group, segment: Segment, config: AcceleratorConfig) -> int:
    """Filters of the first tile of a whole-map depthwise-separable group that keeps all its depthwise
    words, and so reads its input with that tile only; 0 for others, and where it adds the input to its output."""
    if not segment.nest.whole or not isinstance(group, (Depthwise, Separable)) or (group.averaged and not group.images):
        return 0
    if group.source.storage.name in [other.storage.name for other in group.others]:
        return 0
    found = mappings_of(config, group, group.map_shape[0])
    return next((m.tile for m in found if m.blocks.outer == 1 and m.tiles > 1), 0)

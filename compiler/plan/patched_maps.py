# SPDX-License-Identifier: Apache-2.0
"""Which inputs lie as patches: those of few channels, of which a convolution with a large kernel fills words better if
neighbouring pixels are channels of one.

The filters are taken apart as well, and filled up with zeros: k x l taps become one, whose channels they are. Patches
side by side (their step is their size) are as many bytes as the input; the more they overlap, the more bytes come from
DRAM, and the fewer words are multiplied in vain. The way is chosen that takes least by the cycles of the array and of
the DRAM port.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.input_layout import Patches
from eyrie.compiler.ir.layer import Convolution, Filtered, Group, Pointwise, divided_maps
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.window import Window
from eyrie.compiler.plan.filters import filter_words
from eyrie.compiler.target.limits import filter_sets, slides
from eyrie.compiler.target.mapping import mappings
from eyrie.compiler.target.times import port_words
from eyrie.model.config import WORD_CHANNELS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode

MOST_CHANNELS = WORD_CHANNELS  # of an input: of more most words are full
MOST_TAPS = 16  # along an axis that become one, if they are not all
LOOKED_AT = 4  # of the ways to lay an input, those that take least by words alone
LEAST_GAIN = 0.95  # of the cycles as the input is: below that it is worth the host's work


def with_patched_inputs(
    groups: list[Group], config: AcceleratorConfig, unpacked: Collection[str] = (), larger: bool = True
) -> list[Group]:
    """The groups, which read those inputs as patches that a single one reads, to its gain; unpacked: names of those
    that others lay out; larger: whether patches may be more bytes than the input as it is."""
    made = {group.output.name for group in groups} | divided_maps(groups)
    read = [operand.name for group in groups for operand in group.operands]

    def suits(group: Group) -> bool:
        name = group.source.name
        return (
            name not in made
            and name not in unpacked
            and read.count(name) == 1
            and group.source.shape[2] <= MOST_CHANNELS
            and group.window.dilation == (1, 1)
        )

    return [
        _best(group, config, larger) if isinstance(group, Convolution) and suits(group) else group for group in groups
    ]


@dataclass(frozen=True)
class _Split:
    """One axis: taps become fewer, of `size` each, with patches every `step` pixels."""

    size: int
    step: int
    taps: int

    @property
    def dilation(self) -> int:
        """Patches from one tap to the next."""
        return self.size // self.step if self.taps > 1 else 1


def _splits(kernel: int, stride: int) -> Iterator[_Split]:
    """Of an axis: each tap's patches begin where patches begin."""
    for step in (step for step in range(1, stride + 1) if stride % step == 0):
        yield _Split(kernel, step, 1)
        for size in range(step, min(kernel, MOST_TAPS + 1), step):
            yield _Split(size, step, -(-kernel // size))


def _best(group: Convolution, config: AcceleratorConfig, larger: bool) -> Group:
    """The group as it takes least."""
    ways = [
        _patches(group, rows, cols) for rows, cols in product(*map(_splits, group.window.kernel, group.window.stride))
    ]
    laid = ways + [
        replace(map_, packed=True)
        for map_ in ways
        if filter_sets(config) and map_.shape[2] <= WORD_CHANNELS and slides(_window(group, _patches_of(map_)))
    ]
    pixels = np.prod(group.map_shape) * len(group.filters) * WORD_CHANNELS * config.sets / config.total_multipliers

    def least(map_: Map) -> float:
        """Cycles by words alone: two sets share one, those that read a packed map are at work on other filters."""
        patches = _patches_of(map_)
        words = (
            1 / filter_sets(config)
            if map_.packed
            else -(-patches.channels // (2 * WORD_CHANNELS)) * (1 if config.sets > 1 else 2)
        )
        taps = np.prod([-(-taps // size) for taps, size in zip(patches.taps, patches.kernel)])
        return pixels * taps * words + map_.layout.words / port_words(config)

    bound, words = LEAST_GAIN * _cycles(group, config), group.source.layout.words
    promising = sorted(
        (map_ for map_ in laid if least(map_) < bound and (larger or map_.layout.words <= words)), key=least
    )[:LOOKED_AT]
    chosen = [each for each in (rewritten(group, map_) for map_ in promising) if _leaves_room(each, config)]
    costs = [_cycles(each, config) for each in chosen]
    return chosen[int(np.argmin(costs))] if costs and min(costs) < bound else group


def _patches(group: Convolution, rows: _Split, cols: _Split) -> Map:
    """The source of a group as patches."""
    window = group.window
    height, width = (
        (made - 1) * stride // split.step + (split.taps - 1) * split.dilation + 1
        for made, stride, split in zip(group.map_shape, window.stride, (rows, cols))
    )
    patches = Patches(
        group.source.shape,
        height,
        width,
        (rows.size, cols.size),
        (rows.step, cols.step),
        (window.pads[0], window.pads[2]),
        window.kernel,
    )
    return replace(group.source, shape=(height, width, patches.channels), packed=False, patches=patches)


def _patches_of(source: Map) -> Patches:
    assert source.patches
    return source.patches


def rewritten(group: Convolution, source: Map) -> Filtered:
    """A convolution of an input as one of its patches, or as pointwise work where each is all that a filter sees."""
    patches = _patches_of(source)
    splits = down, across = _splits_of(patches)
    channels = patches.shape[2]
    margins = [(0, split.taps * split.size - taps) for split, taps in zip(splits, patches.taps)]
    filters = np.pad(group.filters, [(0, 0), *margins, (0, 0)])
    filters = filters.reshape(-1, down.taps, down.size, across.taps, across.size, channels).transpose(0, 1, 3, 2, 4, 5)
    filters = np.ascontiguousarray(filters).reshape(-1, down.taps, across.taps, patches.channels)
    window = _window(group, patches)
    ends = {field.name: getattr(group, field.name) for field in fields(Group)} | {"source": source, "window": window}
    if window == Window() and not source.packed:
        return Pointwise(**ends, filters=filters.reshape(len(filters), -1), table=group.table)
    return Convolution(**ends, filters=filters, table=group.table)


def _splits_of(patches: Patches) -> tuple[_Split, _Split]:
    rows, cols = (
        _Split(size, step, -(-taps // size)) for size, step, taps in zip(patches.kernel, patches.step, patches.taps)
    )
    return rows, cols


def _window(group: Convolution, patches: Patches) -> Window:
    """What a group sees of patches of its source."""
    rows, cols = _splits_of(patches)
    stride = group.window.stride[0] // rows.step, group.window.stride[1] // cols.step
    return Window((rows.taps, cols.taps), stride, dilation=(rows.dilation, cols.dilation))


def _leaves_room(group: Filtered, config: AcceleratorConfig) -> bool:
    """Whether the rows of patches that are in use, and filters that have to stay, leave the GLB room."""
    half = config.glb_words // 2
    count = word_groups(len(group.filters)) * 8
    if group.source.packed and filter_words(group, ArrayMode.CONVOLUTION, count) > half:
        return False
    return 2 * group.window.span[0] * group.source.layout.row_words <= half


def _cycles(group: Filtered, config: AcceleratorConfig) -> float:
    """Of the array, by its cheapest mapping, or of the filters through the DRAM port, if these are more, and of the
    source through it; infinite where there is no mapping."""
    found = mappings(config, group, group.map_shape[0])
    if not found:
        return float("inf")
    best = found[0]
    filters, source = filter_words(group, best.mode, best.tile * best.tiles), group.source.layout.words
    return max(best.cycles, filters / port_words(config)) + source / port_words(config)

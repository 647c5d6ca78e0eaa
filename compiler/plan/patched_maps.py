# SPDX-License-Identifier: Apache-2.0
"""Which inputs lie as patches: those of few channels, of which a convolution with a large kernel fills words better if
neighbouring pixels are channels of one.

The filters are taken apart as well, and filled up with zeros: k x l taps become one, whose channels they are. Patches
side by side (their step is their size) are as many bytes as the input; the more they overlap, the more bytes come from
DRAM, and the fewer words are multiplied in vain. The way is chosen that takes least by the cycles of the array and of
the DRAM port.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod

import numpy as np

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.input_layout import Patches
from eyrie.compiler.ir.layer import Convolution, Filtered, Group, Pointwise
from eyrie.compiler.ir.maps import Map, Part
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
    groups: list[Group], config: AcceleratorConfig, shared: Collection[str] = (), larger: bool = True
) -> list[Group]:
    """The groups, which read those inputs as patches of which all readers have the same window, to their gain.

    shared: names of those that another program shares; larger: whether patches may be more bytes than the input
    """
    made = {map_.name for group in groups for map_ in group.output.around}
    readers: dict[str, list[int]] = {}
    for n, group in enumerate(groups):
        for operand in group.operands:
            readers.setdefault(operand.storage.name, []).append(n)
    found = list(groups)
    for name, numbers in readers.items():
        own = [group for n in numbers if isinstance(group := groups[n], Convolution)]
        if name not in made and name not in shared and len(own) == len(numbers) and _suit(own):
            for n, group in zip(numbers, _best(own, config, larger)):
                found[n] = group
    return found


def _suit(readers: Sequence[Convolution]) -> bool:
    """Return whether the readers of an input, or of rows of it, can have it as the same patches."""
    source, windows = readers[0].source.storage, {_along_rows(group.window) for group in readers}
    return (
        len(windows) == 1
        and source.shape[2] <= MOST_CHANNELS
        and readers[0].window.dilation == (1, 1)
        and len({group.name for group in readers}) == len(readers)
        and all(map(_reads_rows, readers))
    )


def _along_rows(window: Window) -> tuple:
    """Return what windows along the same rows must have in common."""
    return window.kernel, window.stride, window.dilation, window.pads[2:]


def _reads_rows(group: Convolution) -> bool:
    """Return whether a group reads rows of an input, and pads where the input ends."""
    source, whole = group.source, group.source.storage
    outside = source.first_row, whole.shape[0] - source.first_row - source.shape[0]  # rows above and below
    pads_inside = any(pad > 0 and rows for pad, rows in zip(group.window.pads, outside))
    return source.shape[1:] == whole.shape[1:] and not pads_inside


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


def _best(readers: Sequence[Convolution], config: AcceleratorConfig, larger: bool) -> Sequence[Group]:
    """The readers of an input as they take least."""
    first = readers[0]
    ways = [
        sources
        for rows, cols in product(*map(_splits, first.window.kernel, first.window.stride))
        if (sources := _patches(readers, rows, cols))
    ]
    laid = ways + [
        [replace(source, packed=True)]
        for source, *others in ways
        if not (others or source.part)
        and filter_sets(config)
        and source.shape[2] <= WORD_CHANNELS
        and slides(_window(first, _patches_of(source)))
    ]
    pixels = len(first.filters) * WORD_CHANNELS * config.sets / config.total_multipliers
    pixels *= sum(prod(group.map_shape) for group in readers)

    def least(sources: list[Map]) -> float:
        """Cycles by words alone: two sets share one, those that read a packed map are at work on other filters."""
        patches = _patches_of(sources[0])
        words = (
            1 / filter_sets(config)
            if sources[0].packed
            else -(-patches.channels // (2 * WORD_CHANNELS)) * (1 if config.sets > 1 else 2)
        )
        taps = np.prod([-(-taps // size) for taps, size in zip(patches.taps, patches.kernel)])
        return pixels * taps * words + sources[0].storage.layout.words / port_words(config)

    bound = LEAST_GAIN * sum(_cycles(group, config) for group in readers)
    words = first.source.storage.layout.words
    promising = sorted(
        (each for each in laid if least(each) < bound and (larger or each[0].storage.layout.words <= words)), key=least
    )[:LOOKED_AT]
    rewrites = [[rewritten(group, source) for group, source in zip(readers, sources)] for sources in promising]
    chosen = [groups for groups in rewrites if all(_leaves_room(group, config) for group in groups)]
    costs = [sum(_cycles(group, config) for group in groups) for groups in chosen]
    return chosen[int(np.argmin(costs))] if costs and min(costs) < bound else readers


def _patches(readers: Sequence[Convolution], rows: _Split, cols: _Split) -> list[Map]:
    """The sources of the readers of an input as patches; [] if their windows do not all begin where patches do, or if
    they are rows of values of a table."""
    window, whole = readers[0].window, readers[0].source.storage
    begins = [group.source.first_row - group.window.pads[0] for group in readers]
    before = max(-min(begins), 0)
    before += -(begins[0] + before) % rows.step
    if any((begin + before) % rows.step for begin in begins):
        return []
    firsts = [(begin + before) // rows.step for begin in begins]
    sizes = [
        [
            (made - 1) * stride // split.step + (split.taps - 1) * split.dilation + 1
            for made, stride, split in zip(group.map_shape, window.stride, (rows, cols))
        ]
        for group in readers
    ]
    height, width = max(first + own for first, (own, _) in zip(firsts, sizes)), sizes[0][1]
    patches = Patches(
        whole.shape,
        height,
        width,
        (rows.size, cols.size),
        (rows.step, cols.step),
        (before, window.pads[2]),
        window.kernel,
    )
    if whole.table and any(own < height for own, _ in sizes):
        return []
    whole = replace(whole, shape=(height, width, patches.channels), packed=False, patches=patches)
    return [_rows_of(whole, first, own) for first, (own, _) in zip(firsts, sizes)]


def _rows_of(whole: Map, first: int, count: int) -> Map:
    """Return rows of an input that lies as patches."""
    if count == whole.shape[0]:
        return whole
    shape = (count, *whole.shape[1:])
    return replace(whole, name=f"{whole.name}#{first}+{count}", shape=shape, patches=None, part=Part(whole, first, 0))


def _patches_of(source: Map) -> Patches:
    assert source.storage.patches
    return source.storage.patches


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

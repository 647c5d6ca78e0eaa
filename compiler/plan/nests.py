# SPDX-License-Identifier: Apache-2.0
"""The loop nests that the planner tries: a function for each way to run fused operators.

Each function yields nests for fused operators from `first` on, with the number of fused operators. A nest of any kind
is legal if plan/given.py accepts it.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import NARROW_GROUPS, word_groups
from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Grouped, Pointwise
from eyrie.compiler.ir.nest import ONE, Nest, Tiling
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.flow import Flow
from eyrie.model.encoding import Operation

ROWS = (1, 2, 3, 4, 6, 8, 12, 16)  # of a row tile
TILES = (2, 4, 8, 16, 32)  # of filters
TILE_BLOCKS = 8  # blocks of 8 channels in a channel tile, in front of a pass whose filters come again
MOST_GROUPS = 4  # of a segment

Nests = Iterator[tuple[int, Nest]]


def possible_segments(flow: Flow, first: int, from_dram: bool, most: int = MOST_GROUPS) -> Iterator[Segment]:
    """Yield all segments that begin with fused operator `first` and have at most `most` fused operators.

    from_dram: the input of the first one comes from DRAM
    """
    for count, nest in _nests(flow, first, from_dram, most):
        segment = segment_of(flow, first, first + count, nest)
        late = not nest.ahead and segment.shares_input  # its rows are free behind the last reader: no time to load
        if keeps_planes(flow, segment) and not late:
            yield segment


def _nests(flow: Flow, first: int, from_dram: bool, most: int) -> Nests:
    yield from whole(flow, first, from_dram)
    yield from refetched(flow, first, from_dram)
    if from_dram:
        yield from channel_tiles(flow, first)
        if most > 1:
            yield from channel_then_filter_tiles(flow, first)
    if not flow.groups[first].at_once:
        yield from in_place(flow, first, from_dram)
        yield from pipelined(flow, first, from_dram, most)


def segment_of(flow: Flow, first: int, last: int, nest: Nest) -> Segment:
    """Return a segment with the words of the feature maps beside it."""
    fetched, held = flow.fetched(first, last, nest.sliced), flow.words_across(first, last, nest.from_dram)
    words = sum(map_.layout.words for _, map_ in fetched)
    segment = Segment(flow.groups, first, last, nest, held, words, tuple(flow.freed(first, last, nest.from_dram)))
    if not fetched:
        return segment
    there = 0
    for n, map_ in fetched:
        parts = segment.parts_of(n)
        places = 2 if parts > 1 else 1
        there += places * segment.operand_rows(n, map_.shape[0]) * map_.layout.row_words // parts
    return replace(segment, beside=held + there)


def keeps_planes(flow: Flow, segment: Segment) -> bool:
    """Return whether feature maps in NC/8HW8 layout go through DRAM as a whole, or in whole planes, and whether the
    output of work in place has the layout of its input."""
    nest, group = segment.nest, segment.groups[0]
    one_tile = len(segment.groups) == 1 and (not nest.rows or nest.rows >= group.map_shape[0])
    source, made = group.source, segment.groups[-1].output
    if nest.in_place and (source.planar or made.planar):
        return one_tile and source.planar == made.planar
    fetched = [map_ for _, map_ in flow.fetched(segment.first, segment.last)]
    through_dram = [*fetched, *[source] * nest.from_dram, *[made] * nest.to_dram]
    return one_tile or not any(map_.planar for map_ in through_dram)


def whole(flow: Flow, first: int, from_dram: bool) -> Nests:
    """One pass on whole feature maps."""
    for to_dram in flow.exits(first):
        yield 1, Nest(from_dram=from_dram, to_dram=to_dram)


def refetched(flow: Flow, first: int, from_dram: bool) -> Nests:
    """Row tile by row tile, with all filters for each, in one filter tile or several."""
    group = flow.groups[first]
    if not isinstance(group, Filtered) or group.averaged:
        return
    height = group.map_shape[0]
    for to_dram in flow.exits(first):
        for rows in row_tiles(group):
            for tiles in filter_tiles(group):
                if (tiles == 1 and rows == height) or (tiles > 1 and not to_dram):
                    continue
                nest = Nest((Tiling(filters=tiles),), rows, from_dram=from_dram, to_dram=to_dram, refetch=True)
                yield 1, nest
                if from_dram and rows < height:
                    yield 1, replace(nest, ahead=False)


def channel_tiles(flow: Flow, first: int) -> Nests:
    """Row tile by row tile, and in each channel tile by channel tile, from DRAM."""
    group = flow.groups[first]
    if not has_channel_tiles(group):
        return
    channels, blocks = group.source.shape[2], word_groups(group.source.shape[2])
    for to_dram in flow.exits(first):
        for rows in [group.map_shape[0]] if group.at_once else row_tiles(group):
            for tiles in (n for n in range(2, blocks + 1) if channels % (8 * n) == 0):
                yield 1, Nest((Tiling(channels=tiles),), rows, from_dram=True, to_dram=to_dram)


def has_channel_tiles(group: Group) -> bool:
    """Return whether a fused operator can run channel tile by channel tile."""
    beside = isinstance(group, Elementwise) and (
        group.operation.constants is not None and group.operation.kind not in (Operation.TABLE, Operation.SUM)
    )
    alone = not group.others and not beside and len(group.operations) <= 1
    in_order = not (isinstance(group, Elementwise) and group.words) and group.source.shape[2] == group.output.shape[2]
    return isinstance(group, (Depthwise, Elementwise)) and alone and in_order


def channel_then_filter_tiles(flow: Flow, first: int) -> Nests:
    """Row tile by row tile: channel tiles of an operator that does not mix channels, then filter tiles of the next one,
    whose filters come for each row tile again."""
    if first + 1 == len(flow.groups) or not flow.passed_on(first):
        return
    group, behind = flow.groups[first : first + 2]
    blocks, rest = divmod(group.source.shape[2], 8)
    alone = not isinstance(group, Depthwise) or group.source.shape[2] != group.output.shape[2] or group.operations
    if alone or rest or blocks < 2 or type(behind) is not Pointwise or behind.averaged or behind.others:
        return
    channels = next(n for n in range(2, blocks + 1) if blocks % n == 0 and blocks <= n * TILE_BLOCKS)
    for rows in row_tiles(behind):
        for tiles in filter_tiles(behind):
            for to_dram in flow.exits(first + 1):
                if tiles == 1 or to_dram:
                    tilings = Tiling(channels=channels), Tiling(filters=tiles)
                    yield 2, Nest(tilings, rows, lead=0, from_dram=True, to_dram=to_dram, refetch=True)


def can_be_in_place(flow: Flow, first: int, from_dram: bool) -> bool:
    """Return whether the output of a fused operator can overwrite its input."""
    group = flow.groups[first]
    return (
        not from_dram
        and not (isinstance(group, Elementwise) and (group.walk or group.words))
        and flow.passed_on(first - 1)
        and not flow.held(first)
        and group.source.shape == group.output.shape
        and group.window.stride == (1, 1)
    )


def in_place(flow: Flow, first: int, from_dram: bool) -> Nests:
    """Row tile by row tile, the output over the dead rows of the input."""
    if can_be_in_place(flow, first, from_dram):
        for rows in row_tiles(flow.groups[first]):
            yield 1, Nest(rows=rows, to_dram=not flow.passed_on(first), in_place=True)


def pipelined(flow: Flow, first: int, from_dram: bool, most: int) -> Nests:
    """Row tile by row tile, one or several fused operators, which alternate."""
    groups, overwrites = flow.groups, can_be_in_place(flow, first, from_dram)
    for last in range(first + 1, min(len(groups), first + most) + 1):
        group, count = groups[last - 1], last - first
        if group.averaged or group.at_once:
            return
        if count > 1 and max(groups[first].together, group.together) > 1:
            return
        if not flow.encloses(first, last):
            continue
        leads = (1, 2) if count == 2 else (1,)  # with a lead of 1, a job reads the output of the job just before it
        aheads = (True, False) if from_dram and count > 1 else (True,)  # passes behind the first one leave time to load
        refetches = (False, True) if count > 1 and isinstance(group, Filtered) else (False,)
        for rows, to_dram, ahead, lead, refetch in product(
            row_tiles(group), flow.exits(last - 1), aheads, leads, refetches
        ):
            if overwrites and count == 1 and not to_dram:
                continue  # the same with more words
            if (ahead and not refetch) or rows < group.map_shape[0]:
                yield count, Nest((ONE,) * count, rows, lead, from_dram, ahead, to_dram, refetch)


def row_tiles(group: Group) -> list[int]:
    """Return the heights of row tiles of an output."""
    return sorted({min(each * group.together, group.map_shape[0]) for each in ROWS})


def filter_tiles(group: Filtered) -> list[int]:
    """Return the numbers of filter tiles."""
    most = TILES[-1] if can_be_tiled(group) else 1
    return [1, *(tiles for tiles in TILES if tiles <= most and len(group.filters) % (8 * tiles) == 0)]


def can_be_tiled(group: Filtered) -> bool:
    """Return whether filter tiles can have passes of their own, with outputs that lie in DRAM as the whole does."""
    alike = group.map_shape[1] > 1 or word_groups(len(group.filters)) < NARROW_GROUPS
    of_one_shape = all(other.shape == group.output.shape for other in group.others)
    return alike and of_one_shape and not isinstance(group, Grouped)


def segments_of_images(group: Group, from_dram: bool, last: bool) -> Iterator[Segment]:
    """Yield all segments of a fused operator that several images go through at once. last: it is the network's last"""
    network = (group,)
    for to_dram in (True,) if last else (False, True):
        yield Segment(network, 0, 1, Nest(from_dram=from_dram, to_dram=to_dram))
    if (
        not from_dram
        and isinstance(group, Depthwise)
        and (group.source.shape == group.output.shape and group.window.stride == (1, 1))
    ):
        yield Segment(network, 0, 1, Nest(rows=group.map_shape[0], to_dram=last, in_place=True))
    if isinstance(group, Pointwise) and not group.averaged and not last:
        for tiles in filter_tiles(group):
            if tiles > 1:
                yield Segment(network, 0, 1, Nest((Tiling(filters=tiles),), from_dram=from_dram, to_dram=True))

# SPDX-License-Identifier: Apache-2.0
"""Schedules that the planner did not choose: whether each segment and its loop nest are legal, and why not."""

from collections.abc import Iterator
from dataclasses import replace

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Pointwise, divided_maps
from eyrie.compiler.ir.nest import ONE, Nest, Tiling
from eyrie.compiler.ir.nest_text import ScheduleText
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import (
    MOST_GROUPS,
    TILES,
    can_be_in_place,
    can_be_tiled,
    has_channel_tiles,
    keeps_planes,
    segment_of,
)
from eyrie.compiler.plan.pieces import Pieces
from eyrie.compiler.plan.planar_maps import inner_maps, with_planar
from eyrie.compiler.plan.strips import ways
from eyrie.compiler.target.suit import divisions
from eyrie.model.config import AcceleratorConfig
from eyrie.model.messages import number_of


def check_segments(groups: list[Group], segments: list[Segment]) -> None:
    """Raise Unsupported, with the reason, unless the segments have all fused operators in their order and each has a
    legal loop nest."""
    place = 0
    for segment in segments:
        if segment.first != place or not place < segment.last <= len(groups):
            raise Unsupported(
                f"a segment of groups {segment.first} to {segment.last}, of {len(groups)} the next is {place}",
                remedy="let each segment begin where the one before ends",
            )
        if len(segment.network) != len(groups) or any(mine is not own for mine, own in zip(segment.network, groups)):
            raise Unsupported(
                f"the segment of groups {segment.first} to {segment.last} is of other groups",
                remedy="name the same ones in all",
            )
        place = segment.last
    if place != len(groups):
        raise Unsupported(
            f"no segment has group {groups[place].name}", layer=groups[place].name, remedy="add one after the last"
        )
    flow = _flow(groups, segments)
    for before, segment in zip([None, *segments], segments):
        name = groups[segment.first].name
        if reason := next(_reasons(flow, before, segment), None):
            raise Unsupported(f"the segment of group {name}: {reason}", layer=name, remedy="change its loop nest")


def _flow(groups: list[Group], segments: list[Segment]) -> Flow:
    """Return the flow in which the outputs of segments that go to DRAM are there."""
    flow, stored = Flow(tuple(groups)), {segment.last - 1 for segment in segments if segment.nest.to_dram}
    return replace(flow, in_dram=frozenset(groups[n].output.storage.name for n in stored if flow.held(n)))


def scheduled(groups: list[Group], text: ScheduleText, config: AcceleratorConfig) -> tuple[list[Group], list[Segment]]:
    """Return the fused operators that a schedule names, and its segments. Raise Unsupported if a name is wrong or a
    segment is illegal."""
    found = list(_named(Flow(tuple(groups)), [name for each in text.segments for name in each.names], config))
    maps = {each.name for group in found for map_ in (*group.operands, group.output) for each in map_.around}
    if unknown := [name for name in text.planar if name not in maps]:
        raise Unsupported(f"planar: there is no feature map {unknown[0]}", remedy="write the names that --dump prints")
    if divided := sorted(set(text.planar) & divided_maps(found)):
        raise Unsupported(f"planar: {divided[0]} has parts, or is one", remedy="leave it out")
    if outer := sorted(set(text.planar) - inner_maps(found)):
        raise Unsupported(f"planar: {outer[0]} is an input or an output of the network", remedy="leave it out")
    found = with_planar(found, set(text.planar))
    network, segments, first = tuple(found), list[Segment](), 0
    for each in text.segments:
        segments.append(Segment(network, first, first + len(each.names), each.nest))
        first += len(each.names)
    check_segments(found, segments)
    flow = _flow(found, segments)
    return found, [segment_of(flow, each.first, each.last, each.nest) for each in segments]


def _named(flow: Flow, names: list[str], config: AcceleratorConfig) -> Iterator[Group]:
    """Yield the fused operators of these names: fused operators of the network, their strips, or the parts of one."""
    at = n = 0
    while n < len(flow.groups):
        for count, strips in (1, flow.groups[n : n + 1]), *ways(flow, n, config):
            if pieces := _pieces(strips, names[at:]):
                yield from pieces
                at, n = at + len(pieces), n + count
                break
        else:
            found = f"'pass {names[at]}' stands" if at < len(names) else "the schedule ends"
            choices = " or ".join(", ".join(part.name for part in parts) for parts in divisions(flow.groups[n]))
            choices += " or strips" * any(ways(flow, n, config))
            raise Unsupported(f"{found} where {choices} is the next", remedy="name the passes in their order")
    if at < len(names):
        raise Unsupported(f"'pass {names[at]}' is one too many", remedy="name each fused operator once")


def _pieces(groups: Pieces, names: list[str]) -> list[Group]:
    """Return fused operators, each in one part or in several, as the names that come first say; [] if they differ."""
    found = list[Group]()
    for group in groups:
        for parts in divisions(group):
            if names[len(found) : len(found) + len(parts)] == [part.name for part in parts]:
                found += parts
                break
        else:
            return []
    return found


def _reasons(flow: Flow, before: Segment | None, segment: Segment) -> Iterator[str]:
    """Yield why a segment is illegal."""
    nest, groups, first = segment.nest, segment.groups, segment.first
    from_dram = before is None or flow.next_from_dram(first, before.nest.to_dram)
    if nest.from_dram != from_dram:
        yield "its input comes from " + ("DRAM: fetch it" if from_dram else "the GLB: leave out its fetch")
    if len(nest.tilings) != len(groups):
        yield f"{number_of(len(nest.tilings), 'tiling')} for {number_of(len(groups), 'pass')}"
        return
    if nest.to_dram not in flow.exits(segment.last - 1):
        yield (
            "its output stays in the GLB, where several read it: leave out 'spill output'"
            if nest.to_dram
            else "its output goes to DRAM: spill it"
        )
    yield from _rows(segment)
    for group, tiling in zip(groups, nest.tilings):
        yield from _tiles(group, tiling, nest)
    if nest.refetch and (reason := _no_refetch(groups[-1], nest)):
        yield reason
    if nest.in_place and (len(groups) > 1 or nest.tilings != (ONE,) or nest.refetch or not nest.rows):
        yield "work in place is one pass in a loop over rows, without other loops"
    elif nest.in_place and not can_be_in_place(flow, first, nest.from_dram):
        yield "its input has another shape or stride, comes from DRAM, or is read by others: it cannot be overwritten"
    elif nest.in_place and before is not None and before.nest.in_place and before.slack < segment.slack:
        yield "its input, made in place, has no room for the rows that this segment needs above it"
    if len(groups) > 1:
        yield from _several(flow, segment)
    by_tile = nest.from_dram and (nest.refetch or len(groups) > 1) and 0 < nest.rows < groups[-1].map_shape[0]
    if not nest.ahead and not by_tile:
        yield "only one pass with refetched filters, or several, can fetch the input of each row tile: prefetch it"
    elif not keeps_planes(flow, segment):
        yield "a feature map in NC/8HW8 layout goes through DRAM as a whole: use one row tile"


def _rows(segment: Segment) -> Iterator[str]:
    """Yield why the row tiles are illegal."""
    nest, last = segment.nest, segment.groups[-1]
    height, together = last.map_shape[0], last.together
    if not 0 <= nest.rows <= height:
        yield f"row tiles of {nest.rows} rows, of {height}"
    if nest.rows % together and nest.rows < height:
        yield f"row tiles of {nest.rows} rows, of which {together} are made together"
    if not nest.rows and len(segment.groups) > 1:
        yield "several passes need a loop over rows"
    for group in segment.groups:
        if nest.rows and group.averaged:
            yield f"{group.name} averages over its whole map: run it without a loop over rows"
        if nest.rows and group.at_once and (nest.rows < height or nest.tilings[0].channels == 1):
            yield f"{group.name} makes all rows at once: run it without a loop over rows"


def _tiles(group: Group, tiling: Tiling, nest: Nest) -> Iterator[str]:
    """Yield why the filter or channel tiles of a pass are illegal."""
    if tiling.filters > 1:
        if not isinstance(group, Filtered) or not can_be_tiled(group):
            yield f"{group.name} has no filter tiles"
        elif tiling.filters > TILES[-1] or len(group.filters) % (8 * tiling.filters):
            yield f"{len(group.filters)} filters of {group.name} do not make {tiling.filters} tiles of whole words"
        elif not (nest.refetch and nest.to_dram):
            yield "filter tiles need refetched filters, a loop over rows, and an output in DRAM"
    if tiling.channels > 1:
        channels = group.source.shape[2]
        if not has_channel_tiles(group) or not nest.from_dram:
            yield f"{group.name} has no channel tiles: it mixes channels, or its input is in the GLB"
        elif channels % (8 * tiling.channels):
            yield f"{channels} channels of {group.name} do not make {tiling.channels} tiles of whole words"
        elif not nest.rows:
            yield "channel tiles need a loop over rows"


def _no_refetch(group: Group, nest: Nest) -> str:
    """Return why the filters of the last pass cannot be refetched."""
    if not isinstance(group, Filtered) or group.averaged:
        return f"{group.name} has no filters to refetch"
    if nest.tilings[-1] == ONE and nest.lead and not 0 < nest.rows < group.map_shape[0]:
        return "all filters are used once: leave out 'fetch filters'"
    return "" if nest.rows else "refetched filters need a loop over rows"


def _several(flow: Flow, segment: Segment) -> Iterator[str]:
    """Yield why several passes cannot share a loop over rows."""
    nest, groups, first = segment.nest, segment.groups, segment.first
    if len(groups) > MOST_GROUPS:
        yield f"{len(groups)} passes: at most {MOST_GROUPS} share a loop"
    yield from flow.strays(first, segment.last)
    if not nest.lead:
        yield from _after_channel_tiles(segment)
        return
    if nest.lead > (2 if len(groups) == 2 else 1):
        yield f"a lead of {nest.lead}: the lead is 1, or 2 between two passes"
    if any(tiling != ONE for tiling in nest.tilings):
        yield "passes with a lead have no filter or channel tiles"
    if max(group.together for group in groups) > 1:
        yield "an operator that makes several rows together shares no loop"


def _after_channel_tiles(segment: Segment) -> Iterator[str]:
    """Yield why two passes cannot follow each other in each row tile."""
    nest, groups = segment.nest, segment.groups
    first, last = groups[0], groups[-1]
    plain = isinstance(first, Depthwise) and first.source.shape[2] == first.output.shape[2] and not first.operations
    if len(groups) != 2 or not plain or type(last) is not Pointwise or last.averaged or last.others:
        yield "passes without a lead are a depthwise and a pointwise convolution"
    elif nest.tilings[0].channels < 2 or not nest.refetch:
        yield "passes without a lead need channel tiles of the first and refetched filters of the second"

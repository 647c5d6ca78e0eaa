# SPDX-License-Identifier: Apache-2.0
"""The choice of segments: which groups run together stripe by stripe, and which maps stay in the GLB."""

from collections.abc import Iterator
from dataclasses import replace

from compiler.ir.failure import DoesNotFit
from compiler.ir.feature_map import NARROW_GROUPS, map_words, row_words
from compiler.ir.layer import Depthwise, Group, Pointwise
from compiler.ir.plan import Segment, Way
from compiler.plan.bounds import peak_words, segment_cost
from compiler.plan.flow import Flow
from compiler.plan.mappings import mappings_of
from model.config import GLB_WORD_BYTES, MachineConfig

STRIPE_ROWS = (1, 2, 4, 8)
SLICES = (2, 4, 8, 16, 32)


def best_segments(groups: list[Group], machine: MachineConfig, objective: str = "cycles",
                  refused: frozenset = frozenset()) -> tuple[tuple[float, float], list[Segment]]:
    """The segments of a network that cost least, and their cost.

    objective: "cycles" counts the array's or the port's, whichever are more, and the port's time for maps
    once more, since while it carries maps it does not bring the weights of later layers; "bytes" counts
    DRAM bytes, then cycles; "energy" counts DRAM accesses and cycles of leakage. Held maps (flow.py) stay in the GLB;
    the largest that is there while a group runs that does not fit goes through DRAM, one after another, until there
    is a plan. refused: keys of segments that could not be placed. Raises DoesNotFit.
    """
    flow = Flow(tuple(groups))
    while True:
        try:
            return _cheapest(flow, machine, objective, refused)
        except DoesNotFit as error:
            moved = flow.largest_held(error.layer or "")
            if not moved:
                raise
            flow = replace(flow, in_dram=flow.in_dram | {moved})


def _cheapest(flow: Flow, machine: MachineConfig, objective: str,
              refused: frozenset) -> tuple[tuple[float, float], list[Segment]]:
    """Exact: a dynamic programme over where the sequence is cut and whether the map there comes from DRAM."""
    count = len(flow.groups)
    best: dict[tuple[int, bool], tuple[tuple[float, ...], list[Segment]]] = {(0, True): ((0, 0), [])}
    for first in range(count):
        for from_dram in (False, True):
            if (first, from_dram) not in best:
                continue
            spent, before = best[first, from_dram]
            for segment in _segments_from(flow, first, from_dram):
                if segment.key in refused or _needs_slack_too_late(before, segment):
                    continue
                cost = added(spent, segment, machine, objective)
                if cost is None:
                    continue
                key = (segment.last, _next_from_dram(flow, segment))
                if key not in best or cost < best[key][0]:
                    best[key] = (cost, [*before, segment])
    if (count, True) not in best:
        raise _too_large(flow, machine, refused)
    return best[count, True]


def _next_from_dram(flow: Flow, segment: Segment) -> bool:
    """Whether the source of the group behind a segment comes from DRAM; behind the last, True."""
    if segment.last == len(flow.groups) or flow.passed_on(segment.last - 1):
        return segment.to_dram
    return flow.from_dram(flow.makers[segment.last][0])


def added(spent: tuple[float, float], segment: Segment, machine: MachineConfig,
          objective: str) -> tuple[float, float] | None:
    """What a plan costs with one more segment, None if that does not fit."""
    try:
        if peak_words(segment, machine) > machine.glb_words:
            return None
        cost = segment_cost(segment, machine, objective)
    except DoesNotFit:
        return None
    return spent[0] + cost[0], spent[1] + cost[1]


def _segments_from(flow: Flow, first: int, from_dram: bool) -> Iterator[Segment]:
    """All segments that begin with group `first`."""
    network = flow.groups

    def segment(last: int, way: Way, rows: int, from_dram: bool, to_dram: bool) -> Segment:
        fetched, held = flow.fetched(first, last), flow.held_words(first, last)
        planned = Segment(network, first, last, way, rows, from_dram, to_dram, beside=held,
                          fetched=sum(map_words(map_.shape) for _, map_ in fetched))
        there = sum(planned.operand_rows(n, map_.shape[0]) * row_words(map_.shape) for n, map_ in fetched)
        return replace(planned, beside=held + there) if fetched else planned

    for to_dram in flow.exits(first):
        yield segment(first + 1, Way.WHOLE, 0, from_dram, to_dram)
    group = network[first]
    if group.at_once:
        return
    in_place = (not from_dram and flow.passed_on(first - 1) and not flow.held(first)
                and group.source.shape == group.output.shape and group.window.stride == (1, 1))
    if in_place:
        for rows in STRIPE_ROWS:
            yield segment(first + 1, Way.IN_PLACE, rows, False, not flow.passed_on(first))
    for last in range(first + 1, min(len(network), first + 4) + 1):
        if network[last - 1].averaged or network[last - 1].at_once or last > first + 1 and not flow.passed_on(last - 2):
            break
        for rows in STRIPE_ROWS:
            for to_dram in flow.exits(last - 1):
                if in_place and last == first + 1 and not to_dram:
                    continue  # the same with more words
                yield segment(last, Way.STRIPES, rows, from_dram, to_dram)


def segments_of_images(group: Group, from_dram: bool, last: bool):
    """All segments of a group that several images go through at once; last: of the network."""
    network = (group,)
    for to_dram in ((True,) if last else (False, True)):
        yield Segment(network, 0, 1, Way.WHOLE, 0, from_dram, to_dram)
    if not from_dram and isinstance(group, Depthwise) and (
            group.source.shape == group.output.shape and group.window.stride == (1, 1)):
        yield Segment(network, 0, 1, Way.IN_PLACE, group.map_shape[0], False, last)
    if isinstance(group, Pointwise) and not group.averaged and not last:
        for slices in SLICES:
            blocks = len(group.filters) // 8
            alike = group.map_shape[1] > 1 or blocks < NARROW_GROUPS  # the whole map lies like its slices
            if len(group.filters) % (8 * slices) == 0 and alike:
                yield Segment(network, 0, 1, Way.SLICES, 0, from_dram, True, slices)


def _needs_slack_too_late(before: list[Segment], segment: Segment) -> bool:
    """In place work needs its map to have been made with room for it."""
    if segment.way is not Way.IN_PLACE:
        return False
    return not before or before[-1].way is Way.IN_PLACE and before[-1].slack < segment.slack


def _too_large(flow: Flow, machine: MachineConfig, refused: frozenset) -> DoesNotFit:
    """Names the group that needs most, and whether the GLB is too small for it or had no places."""
    network, least = flow.groups, []
    for n, group in enumerate(network):
        mappings_of(machine, group, group.map_shape[0] if group.averaged else 1)
        alone = [s for s in _segments_from(flow, n, True) if s.last == n + 1]
        least.append((min(peak_words(s, machine) for s in alone), group.name))
    words, name = max(least)
    if words > machine.glb_words:
        demand = words * GLB_WORD_BYTES
        return DoesNotFit(f"group {name} needs at least {demand} bytes of GLB, there are {machine.glb_bytes}",
                          layer=name, demand=demand, bound=machine.glb_bytes,
                          remedy="use a larger GLB or a smaller layer")
    stuck = [group.name for group in network if any((group.layer, group.images) in key[0] for key in refused)]
    names = stuck or [name]
    return DoesNotFit(f"group {' or '.join(names)}: no places found in the GLB of {machine.glb_bytes} bytes for all "
                      "that has to be there at once", layer=names[0] if len(names) == 1 else None,
                      bound=machine.glb_bytes, remedy="use a larger GLB or more effort")

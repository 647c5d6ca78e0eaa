# SPDX-License-Identifier: Apache-2.0
"""Groups in pieces, where these fit and the group does not, or cost less.

The SUPERs keep few pixels of many channels, and a block has room in the GLB for the constants of both halves beside
input and output: where maps are small and channels many, the halves by themselves take larger stripes and tiles. A
group with an average over its map has the whole map in flight, and what it reads in the GLB.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from compiler.ir.failure import DoesNotFit
from compiler.ir.layer import Group, Separable, halves
from compiler.plan.flow import Flow
from compiler.plan.planar_maps import Sizes, gaining_sizes, in_planes, in_planes_alone
from compiler.plan.segments import Cost, SegmentPlanner
from compiler.target.suit import average_apart
from model.config import MachineConfig

LEAST_GAIN = 0.97  # of the cost in one: between neighbours a group in one piece leaves more to choose from

Pieces = Sequence[Group]


def in_pieces(groups: list[Group], machine: MachineConfig, objective: str, sizes: Sizes = frozenset(),
              known: dict[tuple, int] | None = None) -> list[Group]:
    """The groups, each in the pieces that cost least by themselves, from DRAM to DRAM. sizes: of maps in planes; known:
    which pieces these are, of groups that have been weighed."""
    known = {} if known is None else known

    def pieces(group: Group) -> Pieces:
        ways = list(_ways(group))
        if len(ways) == 1:
            return ways[0]
        key = group.geometry, group.output.shape, sizes
        if key not in known:
            known[key] = _cheapest([in_planes_alone(way, sizes) for way in ways], machine, objective)
        return ways[known[key]]

    return in_planes([piece for group in groups for piece in pieces(group)], sizes)


def planners(groups: list[Group], machine: MachineConfig, objective: str,
             known: dict[tuple, int]) -> list[SegmentPlanner]:
    """Planners of the groups in pieces, each with maps of one size more in planes, and cheaper for it, than the next;
    the last one with all maps row by row, which leaves most to choose from."""

    def plan(sizes: Sizes) -> SegmentPlanner:
        return SegmentPlanner(Flow(tuple(in_pieces(groups, machine, objective, sizes, known))), machine, objective)

    found, sizes = [plan(frozenset())], frozenset()
    for size in gaining_sizes(groups, machine):
        tried = plan(sizes | {size})
        if any(group.flat for group in tried.flow.groups) and _spent(tried) < _spent(found[0]):
            found, sizes = [tried, *found], sizes | {size}
    return found


def _spent(planner: SegmentPlanner) -> Cost:
    """Infinite where nothing fits."""
    try:
        return planner.cheapest()[0]
    except DoesNotFit:
        return inf, inf


def _ways(group: Group) -> Iterator[Pieces]:
    """A group in one piece, and in others."""
    yield (group,)
    if isinstance(group, Separable):
        first, second = halves(group)
        for pieces in _ways(second):
            yield first, *pieces
    if group.averaged and not group.images:
        yield average_apart(group)


def _cheapest(ways: list[Pieces], machine: MachineConfig, objective: str) -> int:
    """Which of these costs least; if none fits, which needs least."""
    costs = [_cost(pieces, machine, objective) for pieces in ways]
    fitting = [n for n, cost in enumerate(costs) if not isinstance(cost, DoesNotFit)]
    if fitting:
        return min(fitting, key=lambda n: costs[n][0] * (LEAST_GAIN if n == 0 else 1))
    return min(range(len(ways)), key=lambda n: costs[n].demand or inf)


def _cost(groups: Pieces, machine: MachineConfig, objective: str) -> Cost | DoesNotFit:
    last = replace(groups[-1], stored=True)
    try:
        return SegmentPlanner(Flow((*groups[:-1], last)), machine, objective).cheapest()[0]
    except DoesNotFit as failure:
        return failure

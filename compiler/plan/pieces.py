# SPDX-License-Identifier: Apache-2.0
"""Groups in pieces, where these fit and the group does not, or cost less.

The SUPERs keep few pixels of many channels, and a block has room in the GLB for the constants of both halves beside
input and output: where maps are small and channels many, the halves by themselves take larger row tiles and tiles. A
group with an average over its map has the whole map in flight, and what it reads in the GLB.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.plan.estimates import Cost, Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.planar_maps import Sizes, gaining_sizes, in_planes, in_planes_alone
from eyrie.compiler.plan.segments import SegmentPlanner
from eyrie.compiler.target.suit import divisions

ABOUT = 1.1  # times the least cost: which is less depends on the groups around

Pieces = Sequence[Group]


def in_pieces(groups: list[Group], estimates: Estimates, sizes: Sizes = frozenset()) -> list[Group]:
    """The groups, each in the pieces that cost least by themselves, from DRAM to DRAM; where others cost about as much,
    in those with which all groups cost least. sizes: of maps in planes."""
    ways = [list(divisions(group)) for group in groups]
    kinds = [(group.geometry, group.output.shape) for group in groups]
    ranked: dict[tuple, list[int]] = {}
    for kind, of in zip(kinds, ways):
        if kind not in ranked:
            begins = not ranked  # the network, with the first group
            ranked[kind] = _ranked([in_planes_alone(way, sizes) for way in of], estimates, begins)
    chosen = {kind: ranks[0] for kind, ranks in ranked.items()}

    def pieces(chosen: dict[tuple, int]) -> list[Group]:
        return in_planes([piece for kind, of in zip(kinds, ways) for piece in of[chosen[kind]]], sizes)

    least = None
    for other in ({kind: n} for kind, ranks in ranked.items() for n in ranks[1:]):
        least = least or _cost(pieces(chosen), estimates)
        cost = _cost(pieces(chosen | other), estimates)
        if isinstance(least, DoesNotFit) or (not isinstance(cost, DoesNotFit) and cost < least):
            least, chosen = cost, chosen | other
    return pieces(chosen)


def planners(groups: list[Group], estimates: Estimates) -> list[SegmentPlanner]:
    """Planners of the groups in pieces, each with maps of one size more in planes, and cheaper for it, than the next;
    the last one with all maps row by row, which leaves most to choose from."""

    def plan(sizes: Sizes) -> SegmentPlanner:
        return SegmentPlanner(Flow(tuple(in_pieces(groups, estimates, sizes))), estimates)

    found, sizes = [plan(frozenset())], Sizes()
    for size in gaining_sizes(groups, estimates.config):
        tried = plan(sizes | {size})
        if any(group.flat for group in tried.flow.groups) and _spent(tried) < _spent(found[0]):
            found, sizes = [tried, *found], sizes | {size}
    return found


def _spent(planner: SegmentPlanner) -> Cost:
    """Infinite where nothing fits."""
    try:
        return planner.cheapest(in_glb=True)[0]
    except DoesNotFit:
        return inf, inf


def _ranked(ways: list[Pieces], estimates: Estimates, begins: bool) -> list[int]:
    """Which of these costs least, and which about as much; if none fits, which needs least."""
    if len(ways) == 1:
        return [0]
    costs = [_cost(pieces, estimates, begins) for pieces in ways]
    fitting = sorted((cost, n) for n, cost in enumerate(costs) if not isinstance(cost, DoesNotFit))
    if fitting:
        return [n for cost, n in fitting if cost[0] <= ABOUT * fitting[0][0][0]]
    demands = [cost.demand or inf for cost in costs if isinstance(cost, DoesNotFit)]
    return [demands.index(min(demands))]


def _cost(groups: Pieces, estimates: Estimates, begins: bool = True) -> Cost | DoesNotFit:
    last = replace(groups[-1], stored=True)
    try:
        return SegmentPlanner(Flow((*groups[:-1], last)), estimates, begins).cheapest(in_glb=True)[0]
    except DoesNotFit as failure:
        return failure

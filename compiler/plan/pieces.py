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
from eyrie.compiler.plan.planar_maps import Sizes, in_planes, in_planes_alone
from eyrie.compiler.plan.segments import SegmentPlanner
from eyrie.compiler.target.suit import divisions

ABOUT = 1.1  # times the least cost: which is less depends on the groups around

Pieces = Sequence[Group]


def in_pieces(groups: list[Group], estimates: Estimates, sizes: Sizes = frozenset()) -> list[Group]:
    """Return fused operators, each in its pieces (`pieces_of`). sizes: of maps in planes"""
    return in_planes([piece for pieces in pieces_of(groups, estimates, sizes) for piece in pieces], sizes)


def pieces_of(groups: Sequence[Group], estimates: Estimates, sizes: Sizes = frozenset()) -> list[Pieces]:
    """Return, for each fused operator, the pieces that cost least by themselves, from DRAM to DRAM; where others cost
    about as much, those with which all fused operators cost least. sizes: of maps in planes"""
    ways = [[(group,)] if group.whole else list(divisions(group)) for group in groups]
    kinds = [(group.geometry, group.output.shape, group.whole is None) for group in groups]
    ranked: dict[tuple, list[int]] = {}
    for kind, of in zip(kinds, ways):
        if kind not in ranked:
            begins = not ranked  # the network, with the first group
            ranked[kind] = _ranked([in_planes_alone(way, sizes) for way in of], estimates, begins)
    chosen = {kind: ranks[0] for kind, ranks in ranked.items()}

    def cost_of(chosen: dict[tuple, int]) -> Cost | DoesNotFit:
        pieces = [piece for kind, of in zip(kinds, ways) for piece in of[chosen[kind]]]
        return cost_in_pieces(in_planes(pieces, sizes), estimates)

    least = None
    for other in ({kind: n} for kind, ranks in ranked.items() for n in ranks[1:]):
        least = least or cost_of(chosen)
        cost = cost_of(chosen | other)
        if is_less(cost, least):
            least, chosen = cost, chosen | other
    return [of[chosen[kind]] for kind, of in zip(kinds, ways)]


def _ranked(ways: list[Pieces], estimates: Estimates, begins: bool) -> list[int]:
    """Which of these costs least, and which about as much; if none fits, which needs least."""
    if len(ways) == 1:
        return [0]
    costs = [cost_in_pieces(pieces, estimates, begins) for pieces in ways]
    fitting = sorted((cost, n) for n, cost in enumerate(costs) if not isinstance(cost, DoesNotFit))
    if fitting:
        return [n for cost, n in fitting if cost[0] <= ABOUT * fitting[0][0][0]]
    demands = [cost.demand or inf for cost in costs if isinstance(cost, DoesNotFit)]
    return [demands.index(min(demands))]


def cost_in_pieces(groups: Pieces, estimates: Estimates, begins: bool = True) -> Cost | DoesNotFit:
    """Return the cost of fused operators as they are, the output in DRAM, or why there is none. begins: the network
    begins with them"""
    last = replace(groups[-1], stored=True)
    try:
        return SegmentPlanner(Flow((*groups[:-1], last)), estimates, begins).cheapest(in_glb=True)[0]
    except DoesNotFit as failure:
        return failure


def is_less(cost: Cost | DoesNotFit, least: Cost | DoesNotFit) -> bool:
    """Return whether a cost is less than another, or the other is of what does not fit."""
    return isinstance(least, DoesNotFit) or (not isinstance(cost, DoesNotFit) and cost < least)

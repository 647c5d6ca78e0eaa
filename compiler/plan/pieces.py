# SPDX-License-Identifier: Apache-2.0
"""Groups in pieces, where these fit and the group does not, or cost less.

The SUPERs keep few pixels of many channels, and a block has room in the GLB for the constants of both halves beside
input and output: where maps are small and channels many, the halves by themselves take larger stripes and tiles. A
group with an average over its map has the whole map in flight, and what it reads in the GLB.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from compiler.ir.failure import DoesNotFit
from compiler.ir.layer import Group, Separable, halves
from compiler.plan.flow import Flow
from compiler.plan.segments import Cost, SegmentPlanner
from compiler.target.suit import average_apart
from model.config import MachineConfig

LEAST_GAIN = 0.97  # of the cost in one: between neighbours a group in one piece leaves more to choose from

Pieces = tuple[Group, ...]


def in_pieces(groups: list[Group], machine: MachineConfig, objective: str) -> list[Group]:
    """The groups, each in the pieces that cost least by themselves, from DRAM to DRAM."""
    known: dict[tuple, int] = {}

    def pieces(group: Group) -> Pieces:
        ways = list(_ways(group))
        if len(ways) == 1:
            return ways[0]
        key = group.geometry, group.output.shape
        if key not in known:
            known[key] = _cheapest(ways, machine, objective)
        return ways[known[key]]

    return [piece for group in groups for piece in pieces(group)]


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

# SPDX-License-Identifier: Apache-2.0
"""Blocks whose halves, as groups of their own, cost less.

The SUPERs keep few pixels of many channels, and a block has room in the GLB for the constants of both halves beside
input and output: where maps are small and channels many, the halves by themselves take larger stripes and tiles.
"""

from dataclasses import replace

from compiler.ir.failure import DoesNotFit
from compiler.ir.layer import Group, Separable, halves
from compiler.plan.flow import Flow
from compiler.plan.segments import Cost, SegmentPlanner
from model.config import MachineConfig

LEAST_GAIN = 0.97  # of the cycles in one: between neighbours a block in one piece leaves more to choose from


def halved(groups: list[Group], machine: MachineConfig, objective: str) -> list[Group]:
    """The groups, blocks in halves where that costs less for each by itself, from DRAM to DRAM."""
    known: dict[tuple, bool] = {}

    def pieces(group: Group) -> tuple[Group, ...]:
        if not isinstance(group, Separable) or group.others:
            return (group,)
        if group.geometry not in known:
            known[group.geometry] = _apart_is_cheaper(group, machine, objective)
        return halves(group) if known[group.geometry] else (group,)

    return [piece for group in groups for piece in pieces(group)]


def _apart_is_cheaper(group: Separable, machine: MachineConfig, objective: str) -> bool:
    one, apart = (_cost(pieces, machine, objective) for pieces in ((group,), halves(group)))
    if one is None or apart is None:
        return apart is not None
    return apart[0] < LEAST_GAIN * one[0]


def _cost(groups: tuple[Group, ...], machine: MachineConfig, objective: str) -> Cost | None:
    last = replace(groups[-1], stored=True)
    try:
        return SegmentPlanner(Flow((*groups[:-1], last)), machine, objective).cheapest()[0]
    except DoesNotFit:
        return None

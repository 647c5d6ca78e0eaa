# SPDX-License-Identifier: Apache-2.0
"""What a plan has become when it has its places."""

from compiler.ir.plan import Plan
from compiler.plan.bounds import Bounds
from compiler.plan.search import Placed
from model.config import MachineConfig

MOST = 1.05  # times the array's cycles that were planned


def slower_than_planned(plan: Plan, placed: Placed, machine: MachineConfig) -> set[tuple]:
    """Keys of the segments that have to take smaller tiles than was reckoned, since what lies beside them left their
    filters less room."""
    found = set()
    for segment in plan.segments:
        cycles = sum(placed.constants[n].cycles(plan, n) for n in range(segment.first, segment.last))
        if cycles > MOST * Bounds(segment, machine).array_cycles:
            found.add(segment.key)
    return found

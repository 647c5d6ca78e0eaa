# SPDX-License-Identifier: Apache-2.0
"""Moments of a simulation, as a failure names them and as `make wave AT=cycle` finds them.

A cycle is the number of rising edges of clk_i before it; the first edge begins cycle 0.
"""

import re

PERIOD_NS = 2  # of clk_i, which is low at first
_CYCLE = re.compile(r"\bcycle ([\d,]+), [\d.]+ ns")
_ASSERTION = re.compile(r"^\[(\d+)\] %Error")  # of the RTL; the time is in ps


def cycle_at(time_ns: float) -> int:
    """Return the cycle of a time: -1 before the first edge."""
    return int((time_ns - PERIOD_NS / 2) // PERIOD_NS)


def begin_ns(cycle: int) -> float:
    """Return the time of the edge with which a cycle begins."""
    return (cycle + 0.5) * PERIOD_NS


def moment(time_ns: float) -> str:
    """Return a time in words."""
    return f"cycle {cycle_at(time_ns):,}, {time_ns:g} ns"


def named_cycle(reason: str) -> int | None:
    """Return the cycle that the reason of a failure names: a `moment`, or the time of an assertion of the RTL."""
    if found := _CYCLE.search(reason):
        return int(found[1].replace(",", ""))
    if found := _ASSERTION.search(reason):
        return cycle_at(int(found[1]) / 1000)
    return None

# SPDX-License-Identifier: Apache-2.0
"""The requantizer against the golden arithmetic: corner cases, ties, random values, stalls."""

from collections import deque

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from eyrie.model.arithmetic import (
    INT32_MAX,
    INT32_MIN,
    MAX_LEFT_SHIFT,
    multiply_by_quantized_multiplier,
    table_entries,
    wrap_int32,
)
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

LATENCY = 2  # and the steps of a product
BATCHES = 12
BATCH = 400
CORNER_SUMS = (0, 1, -1, INT32_MIN, INT32_MIN + 1, INT32_MAX, 1 << 30, -(1 << 30))
# The last two: digits of the recoding that carry into the next step.
CORNER_MULTIPLIERS = (0, 1, 1 << 30, (1 << 30) + 1, INT32_MAX, 0x4000_8000, 0x5555_AAAA)
CORNER_SHIFTS = (-31, -30, -16, -8, -1, 0, 1, MAX_LEFT_SHIFT)
RATES = ((0.0, 0.0), (0.4, 0.3), (0.1, 0.8))  # cycles without enable, without a beat


def draw(rng: np.random.Generator, lanes: int) -> dict[str, object]:
    """Operands of a beat: full range, corners, exact ties, results around the int8 range, or any bits of a table.

    sums and biases are int64 [lanes]; second: bool [lanes], whether they have the second factor
    """
    sums, biases = rng.integers(INT32_MIN, INT32_MAX + 1, (2, lanes))
    multiplier, shift = int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(-31, MAX_LEFT_SHIFT + 1))
    kind = rng.integers(6)
    if kind == 0:
        sums, biases = rng.choice(CORNER_SUMS, (2, lanes))
        multiplier, shift = int(rng.choice(CORNER_MULTIPLIERS)), int(rng.choice(CORNER_SHIFTS))
    elif kind == 1:  # sum * 2^30 / 2^31 is whole, and the right shift leaves one half
        multiplier, shift, biases = 1 << 30, -int(rng.integers(1, 12)), np.zeros(lanes, np.int64)
        sums = (2 * rng.integers(-300, 300, lanes) + 1) << -shift
    elif kind == 2:
        shift = -int(rng.integers(0, 20))
        reach = min(150 << (1 - shift), INT32_MAX // 2)
        sums, biases = rng.integers(-reach, reach, (2, lanes))
    elif kind == 3:  # small multipliers, which only an addition has
        multiplier, shift = int(rng.integers(1 << int(rng.integers(1, 31)))), int(rng.choice(CORNER_SHIFTS[:6]))
    elif kind == 4:
        multiplier, shift = int(rng.integers(INT32_MIN, INT32_MAX + 1)), int(rng.integers(-128, 128))
        multiplier = int(rng.choice([multiplier, INT32_MIN, -1]))
    return {"sums": sums, "biases": biases, "multiplier": multiplier, "shift": shift, "second": rng.random(lanes) < 0.5}


def reference(operands: dict[str, object], factor: tuple[int, int], zero_point: int, low: int, high: int) -> np.ndarray:
    """The results of a beat, int8 [lanes]. factor: multiplier and shift of lanes with the second factor"""
    sums = wrap_int32(operands["sums"] + operands["biases"])
    first = multiply_by_quantized_multiplier(sums, *table_entries(operands["multiplier"], operands["shift"]))
    scaled = np.where(operands["second"], multiply_by_quantized_multiplier(sums, *factor), first)
    return np.clip(scaled + zero_point, low, high).astype(np.int8)


def packed(values: np.ndarray, dtype: str) -> int:
    """Values, one a lane, as the bits of a port."""
    return int.from_bytes(values.astype(dtype).tobytes(), "little")


@cocotb.test()
async def values(dut):
    tb = Testbench(dut)
    scoreboard = Scoreboard("results")
    steps, lanes = tb.arguments["steps"], len(dut.results_o) // 8
    inputs = "enable valid tag sums biases multiplier shift zero_point act_min act_max"
    inputs += " second second_multiplier second_right_shift"
    ports = {name: getattr(dut, f"{name}_i") for name in inputs.split()}

    def drive(**levels: int) -> None:
        for name, level in levels.items():
            ports[name].value = level & ((1 << len(ports[name])) - 1)

    drive(**dict.fromkeys(ports, 0))
    await tb.reset()
    for batch in range(BATCHES):
        # The configuration changes while nothing is in flight.
        low, high = sorted(map(int, tb.rng.integers(-128, 128, 2))) if batch % 2 else (-128, 127)
        zero_point = int(tb.rng.integers(-128, 128))
        stall, gap = RATES[batch % len(RATES)]
        factor = int(tb.rng.integers(1 << 30, 1 << 31)), -int(tb.rng.integers(32))
        drive(zero_point=zero_point, act_min=low, act_max=high)
        drive(second_multiplier=factor[0], second_right_shift=-factor[1])
        moves, sent, leaving = 0, 0, deque()  # leaving: the count of moves at which a result is out
        free = 0  # the count of moves from which on a beat may come
        while sent < BATCH or leaving:
            await RisingEdge(dut.clk_i)
            enable = tb.rng.random() >= stall
            valid = sent < BATCH and moves >= free and tb.rng.random() >= gap
            operands, tag = draw(tb.rng, lanes), int(tb.rng.integers(128))
            operands["second"] &= tb.arguments["factors"] == 2
            drive(
                enable=enable,
                valid=valid,
                tag=tag,
                multiplier=operands["multiplier"],
                shift=operands["shift"],
                second=sum(int(bit) << lane for lane, bit in enumerate(operands["second"])),
                sums=packed(operands["sums"], "<i4"),
                biases=packed(operands["biases"], "<i4"),
            )
            await FallingEdge(dut.clk_i)
            due = bool(leaving) and leaving[0] == moves
            assert bool(dut.valid_o.value) == due, f"batch {batch}: valid_o after {moves} moves"
            if not enable:
                continue
            if due:
                leaving.popleft()
                scoreboard.observe((int(dut.results_o.value), int(dut.tag_o.value)))
            if valid:
                results = reference(operands, factor, zero_point, low, high)
                where = f"{operands}, zero point {zero_point}, clamp {low} to {high}"
                scoreboard.expect((packed(results, "i1"), tag), where)
                leaving.append(moves + LATENCY + steps)
                free = moves + steps
                sent += 1
            moves += 1
    await tb.finish(scoreboard)

# SPDX-License-Identifier: Apache-2.0
"""The requantizer against the golden arithmetic: corner cases, ties, random values, stalls."""

from collections import deque

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from model.arithmetic import INT32_MAX, INT32_MIN, multiply_by_quantized_multiplier, wrap_int32
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

LATENCY = 4
BATCHES = 12
BATCH = 400
CORNER_SUMS = (0, 1, -1, INT32_MIN, INT32_MIN + 1, INT32_MAX, 1 << 30, -(1 << 30))
CORNER_MULTIPLIERS = (0, 1, 1 << 30, (1 << 30) + 1, INT32_MAX)
RATES = ((0.0, 0.0), (0.4, 0.3), (0.1, 0.8))  # cycles without enable, without a value


def draw(rng: np.random.Generator) -> dict[str, int]:
    """One set of operands: full range, corners, exact ties, or a result around the int8 range."""
    sum_, bias = (int(value) for value in rng.integers(INT32_MIN, INT32_MAX + 1, 2))
    multiplier, shift = int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(-31, 31))
    kind = rng.integers(4)
    if kind == 0:
        sum_, bias = (int(value) for value in rng.choice(CORNER_SUMS, 2))
        multiplier = int(rng.choice(CORNER_MULTIPLIERS))
    elif kind == 1:  # sum * 2^30 / 2^31 is whole, and the right shift leaves one half
        multiplier, shift, bias = 1 << 30, -int(rng.integers(1, 12)), 0
        sum_ = (2 * int(rng.integers(-150, 150)) + 1) << -shift
    elif kind == 2:
        shift = -int(rng.integers(0, 20))
        reach = min(150 << (1 - shift), INT32_MAX // 2)
        sum_, bias = (int(value) for value in rng.integers(-reach, reach, 2))
    return {"sum": sum_, "bias": bias, "multiplier": multiplier, "shift": shift}


def reference(operands: dict[str, int], zero_point: int, low: int, high: int) -> int:
    scaled = multiply_by_quantized_multiplier(
        wrap_int32(operands["sum"] + operands["bias"]), operands["multiplier"], operands["shift"]
    )
    return int(np.clip(scaled + zero_point, low, high))


@cocotb.test()
async def values(dut):
    tb = Testbench(dut)
    board = Scoreboard("results")
    inputs = "enable valid tag sum bias multiplier shift zero_point act_min act_max"
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
        drive(zero_point=zero_point, act_min=low, act_max=high)
        moves, sent, leaving = 0, 0, deque()  # leaving: the count of moves at which a result is out
        while sent < BATCH or leaving:
            await RisingEdge(dut.clk_i)
            enable, valid = tb.rng.random() >= stall, sent < BATCH and tb.rng.random() >= gap
            operands, tag = draw(tb.rng), int(tb.rng.integers(128))
            drive(enable=enable, valid=valid, tag=tag, **operands)
            await FallingEdge(dut.clk_i)
            due = bool(leaving) and leaving[0] == moves
            assert bool(dut.valid_o.value) == due, f"batch {batch}: valid_o after {moves} moves"
            if not enable:
                continue
            if due:
                leaving.popleft()
                board.observe((int(dut.result_o.value), int(dut.tag_o.value)))
            if valid:
                result = reference(operands, zero_point, low, high)
                where = f"{operands}, zero point {zero_point}, clamp {low} to {high}"
                board.expect((result & 0xFF, tag), where)
                leaving.append(moves + LATENCY)
                sent += 1
            moves += 1
    await tb.finish(board)

# SPDX-License-Identifier: Apache-2.0
"""Passes from a file on the RTL: what scripts/run_case.py runs.

cases.npz holds, for pass n, the GLB image glb_<n> and the descriptor words descriptor_<n>;
result.npz receives sums_<n>, int32 [beats, cols], as they left the array, and cycles_<n>. The sums
are compared with those of the pass model.
"""

import importlib

import cocotb
import numpy as np
from cocotb.triggers import SimTimeoutError

from compiler.cases import Case
from model.config import DEFAULT
from model.descriptor import Descriptor
from model.passes import run_pass
from tb.common.bench import PERIOD_NS, Testbench
from tb.common.scoreboard import Scoreboard

run_on_rtl = importlib.import_module("tb.pass.pass_tests").run_on_rtl


def most_cycles(descriptor: Descriptor) -> int:
    """More cycles than a pass can take, so that one that hangs ends."""
    loops, shape = descriptor.loops, descriptor.shape
    groups = loops["groups"] * loops["inner"] * loops["tiles"] * loops["outer"]
    return 100_000 + 50 * groups * (shape["pixels"] * shape["filters_0"] * shape["taps"] + 64)


@cocotb.test()
async def runs_cases(dut) -> None:
    tb = Testbench(dut)
    board = Scoreboard("run_case")
    dut.start_i.value = 0
    dut.stall_i.value = 0
    await tb.reset()
    results = {}
    with np.load("cases.npz") as cases:
        for n in range(len(cases.files) // 2):
            descriptor = Descriptor([int(word) for word in cases[f"descriptor_{n}"]])
            glb = np.zeros(DEFAULT.glb_words, np.uint64)
            glb[: len(cases[f"glb_{n}"])] = cases[f"glb_{n}"]
            case = Case(glb, descriptor, np.zeros(0), (0, 0, 0))
            limit = most_cycles(descriptor)
            try:
                sums, _, cycles = await run_on_rtl(tb, case, limit * PERIOD_NS)
            except SimTimeoutError:
                raise AssertionError(f"pass {n} does not end within {limit} cycles") from None
            columns = descriptor.drain["columns"]
            expected = run_pass(DEFAULT, descriptor, glb).sums.reshape(-1, DEFAULT.cols)
            board.compare(expected[:, :columns], sums[:, :columns], f"sums of pass {n}")
            results |= {f"sums_{n}": sums, f"cycles_{n}": np.int64(cycles)}
    np.savez("result.npz", **results)
    await tb.finish(board, pass_cycles=int(sum(v for k, v in results.items() if "cycles" in k)))

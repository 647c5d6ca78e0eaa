# SPDX-License-Identifier: Apache-2.0
"""Passes from a file on the RTL: what eyrie/commands/case.py runs.

cases.npz holds, for pass n, the GLB image glb_<n> and the descriptor words descriptor_<n>;
result.npz receives sums_<n>, int32 [sums of a column, cols], as they left the array, and cycles_<n>. The sums
are compared with those of the pass model.
"""

import importlib

import cocotb
import numpy as np

from eyrie.compiler.single_layer.layer_run import Case
from eyrie.model.descriptor import Descriptor
from eyrie.model.passes import run_pass
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

pass_tests = importlib.import_module("tb.pass.pass_tests")
image_of, run_on_rtl = pass_tests.image_of, pass_tests.run_on_rtl


@cocotb.test()
async def runs_cases(dut) -> None:
    tb = Testbench(dut)
    scoreboard = Scoreboard("case")
    dut.start_i.value = 0
    dut.stall_i.value = 0
    await tb.reset()
    results = {}
    with np.load("cases.npz") as cases:
        for n in range(len(cases.files) // 2):
            descriptor = Descriptor([int(word) for word in cases[f"descriptor_{n}"]])
            case = Case(cases[f"glb_{n}"], descriptor, np.zeros(0), (0, 0, 0))
            sums, _, cycles = await run_on_rtl(tb, case)
            columns = descriptor.drain["columns"]
            expected = run_pass(tb.config, descriptor, image_of(tb.config, case)).sums.reshape(-1, tb.config.cols)
            scoreboard.compare(expected[:, :columns], sums[:, :columns], f"sums of pass {n}")
            results |= {f"sums_{n}": sums, f"cycles_{n}": np.int64(cycles)}
    np.savez("result.npz", **results)
    await tb.finish(scoreboard, pass_cycles=int(sum(v for k, v in results.items() if "cycles" in k)))

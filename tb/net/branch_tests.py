# SPDX-License-Identifier: Apache-2.0
"""Networks with branches and joins on the whole accelerator, every pass and all outputs against the model."""

from pathlib import Path
from tempfile import TemporaryDirectory

import cocotb

from eyrie.compiler.cost.predict import predict
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.network import compile_network
from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import DRAM_BYTES
from tb.net.cost_tests import Judge
from tb.net.host import Host
from tb.net.net_tests import run_compared
from tb.net.random_branches import draw_inputs, draw_network, expected_outputs

SEARCH_ITERATIONS = 6


@cocotb.test()
async def runs_branches(dut) -> None:
    """As many as the argument `networks` says; those that the accelerator has no room for are drawn anew."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("branches")
    judge = Judge(dut, scoreboard)
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    wanted = ran = scaled(tb.arguments["networks"])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.tflite"
        while ran:
            path.write_bytes(draw_network(tb.rng))
            try:
                stages = compile_network(path, tb.config, search_iterations=SEARCH_ITERATIONS)
            except DoesNotFit:
                continue
            ran -= 1
            about, image = f"network {wanted - ran}", stages.image
            inputs = draw_inputs(image, tb.rng)
            golden = expected_outputs(stages.graph, inputs)
            result = await run_compared(host, scoreboard, image, inputs, golden, about)
            judge.cycles(about, predict(image).cycles, result.counters["CYCLES"])
            dut._log.info("%s: %d cycles, %d passes", about, result.counters["CYCLES"], len(result.passes))
    await tb.finish(scoreboard, **judge.summary())

# SPDX-License-Identifier: Apache-2.0
"""Convolutions and depthwise convolutions of any window on the whole accelerator, every pass against the model and the
result against what the operators compute."""

import cocotb
import numpy as np

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.pipeline import dumped
from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES
from tb.net.host import Host
from tb.net.net_tests import compare_run
from tests.compiler.windows import compile_groups, draw_chain


@cocotb.test()
async def runs_windows(dut) -> None:
    """As many chains as the argument `chains` says; those for which the GLB has no room are drawn
    anew."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("windows")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    count, ran, number, first = scaled(tb.arguments["chains"]), 0, -1, dict[str, int]()
    while ran < count:
        number += 1
        assert number < 3 * count, f"only {ran} of {number} chains compile"
        rng = np.random.default_rng([cocotb.RANDOM_SEED, number])
        chain = draw_chain(rng)
        try:
            stages = compile_groups(chain.groups, tb.config)
        except DoesNotFit as rejection:
            dut._log.info("chain %d: %s", number, rejection)
            continue
        image, about = stages.image, f"chain {number}\n{chain}\n{dumped(stages, 'map')}"
        values = rng.integers(-128, 128, image.input_map.shape).astype(np.int8)
        contents = image.with_input(values)
        result = await host.run(contents, image.program.address, CYCLE_LIMIT)
        scoreboard.compare(0, int(result.error), f"{about}: error code")
        compare_run(scoreboard, image, contents, result)
        scoreboard.compare(chain.run(values).tolist(), image.output(host.memory).tolist(), f"{about}: result")
        first = first or result.counters
        cycles = result.counters["CYCLES"]
        dut._log.info("chain %d: %d cycles, %d passes\n%s", number, cycles, len(result.passes), chain)
        ran += 1
    await tb.finish(scoreboard, first_counters=first)

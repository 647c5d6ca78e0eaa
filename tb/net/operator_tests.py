# SPDX-License-Identifier: Apache-2.0
"""Single operators on the whole accelerator, every pass and all outputs against the model."""

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import cocotb

from eyrie.compiler.cost.predict import predict
from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.single_operators import ON_THE_ACCELERATOR, cases
from tb.net.bench import DRAM_BYTES
from tb.net.cost_tests import Judge
from tb.net.host import Host
from tb.net.net_tests import run_compared

LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")  # whose cycles cost0 and cost1 judge


@cocotb.test()
async def runs_operators(dut) -> None:
    """As many graphs of each operator as the argument `graphs` says."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("operators")
    judge = Judge(dut, scoreboard)
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    count = scaled(tb.arguments["graphs"])
    with TemporaryDirectory() as folder:
        for number, operator in enumerate(ON_THE_ACCELERATOR):
            drawn = cases(operator, tb.config, Path(folder), [cocotb.RANDOM_SEED, number])
            for case in islice(drawn, count):
                image = case.stages.image
                result = await run_compared(host, scoreboard, image, case.inputs, case.expected, case)
                prediction = predict(image)
                judge.bytes(case.drawn.operator, prediction, result)
                if not case.drawn.operator.startswith(LAYERS):
                    judge.cycles(case.drawn.operator, prediction.cycles, result.counters["CYCLES"])
            dut._log.info("%s", operator)
    await tb.finish(scoreboard, **judge.summary())

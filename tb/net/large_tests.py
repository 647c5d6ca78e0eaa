# SPDX-License-Identifier: Apache-2.0
"""Layers of the largest sizes on the whole accelerator, every pass and the result against the model."""

from pathlib import Path
from tempfile import TemporaryDirectory

import cocotb
import numpy as np

from eyrie.compiler.frontend import tflite
from eyrie.model.config import DEFAULT
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES
from tb.net.host import Host
from tb.net.large_layers import LAYERS
from tb.net.net_tests import compare_glb_bytes, compare_run
from tb.net.random_layers import compile_layer


@cocotb.test()
async def runs_large_layers(dut) -> None:
    """Those that an accelerator other than the default one rejects are left out."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("large")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    with TemporaryDirectory() as folder:
        for layer in LAYERS:
            path = Path(folder) / "layer.tflite"
            draw = compile_layer(layer, tb.rng, path, tb.config)
            if draw.image is None:
                assert tb.config != DEFAULT, f"{layer}: {draw.reason}"
                continue
            graph, image = tflite.load(path), draw.image
            values = tb.rng.integers(-128, 128, image.input_map.shape).astype(np.int8)
            contents = image.with_input(values)
            result = await host.run(contents, image.program.address, CYCLE_LIMIT)
            scoreboard.compare(0, int(result.error), f"{layer}: error code")
            compare_run(scoreboard, image, contents, result)
            compare_glb_bytes(scoreboard, image, result)
            golden = graph.run_images(values[None])[0]
            scoreboard.compare(golden.tolist(), image.output(host.memory).tolist(), f"{layer}: result")
            dut._log.info("%s: %d cycles, %d passes", layer, result.counters["CYCLES"], len(result.passes))
    await tb.finish(scoreboard)

# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the whole accelerator; bench.py lists them."""

from pathlib import Path

import cocotb
import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.model.encoding import glb_write_bytes
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.runtime.metrics import metrics as network_metrics
from eyrie.runtime.metrics import prediction_of
from eyrie.runtime.report.about import About
from eyrie.runtime.results import comparison, write_page
from eyrie.testing.demo_net import demo_input, demo_network
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES
from tb.net.host import Host, Result


def compare_run(scoreboard: Scoreboard, image: Image, contents: np.ndarray, result: Result) -> None:
    """Every pass's signature and the counters, against the functional simulator.

    contents: the memory before the run.
    """
    expected: list[int] = []
    simulator = FunctionalSimulator(contents.copy(), image.config, observe=lambda t: expected.append(t.signature))
    simulator.run(image.program.address)
    scoreboard.compare(len(expected), len(result.passes), "passes")
    for number, (want, got) in enumerate(zip(expected, result.passes)):
        scoreboard.compare(want, got["signature"], f"signature of the ofmap of pass {number}")
    # The accelerator fetches commands ahead, beyond END: only their useful part is the model's.
    counters = dict(result.counters)
    counters["DRAM_READ_BYTES"] -= counters["COMMAND_BYTES"]
    simulator.counters["DRAM_READ_BYTES"] -= simulator.counters["COMMAND_BYTES"]
    for name, value in simulator.counters.items():
        if name != "COMMAND_BYTES":
            scoreboard.compare(value, counters[name], f"counter {name}")


async def run_compared(
    host: Host,
    scoreboard: Scoreboard,
    image: Image,
    inputs: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    about: object,
) -> Result:
    """Runs a network; every pass, the counters and all outputs, by name, against the model and what is expected."""
    contents = image.with_inputs(inputs)
    result = await host.run(contents, image.program.address, CYCLE_LIMIT)
    scoreboard.compare(0, int(result.error), f"{about}: error code")
    compare_run(scoreboard, image, contents, result)
    outputs = image.outputs_in(host.memory)
    for name, golden in expected.items():
        scoreboard.compare(golden.tolist(), outputs[name].tolist(), f"{about}: {name}")
    return result


def compare_glb_bytes(scoreboard: Scoreboard, image: Image, result: Result) -> None:
    """What goes into the GLB is what the DMA loads and the int8 ofmaps, to the byte: no partial sums, no intermediate
    of a fused group. Of maps with whole words of channels: depthwise work writes the rest of a word, too."""
    ofmaps = image.images * sum(int(np.prod(step.ofmap)) for step in image.steps)
    loaded = result.counters["GLB_LOAD_BYTES"]
    scoreboard.compare(loaded + ofmaps, glb_write_bytes(result.counters), "bytes written into the GLB")


@cocotb.test()
async def runs_network(dut) -> None:
    """The bundled network on the demo photo."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("net")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    graph, image = demo_network(tb.config)
    values = demo_input()
    contents = image.with_input(values)
    result = await host.run(contents, image.program.address, CYCLE_LIMIT)
    scoreboard.compare(0, int(result.error), "error code")
    compare_run(scoreboard, image, contents, result)
    compare_glb_bytes(scoreboard, image, result)
    golden, outputs = graph.run_images(values[None]), image.output(host.memory)[None]
    scoreboard.compare(golden, outputs, "logits")
    dut._log.info("%s", result.counters)
    compared, answers = comparison([outputs], [golden])
    metrics = network_metrics(image, result.counters, result.passes) | answers
    write_page(
        Path.cwd(),
        About("MobileNetV1 on the demo photo", "a small network", command="make sim"),
        image,
        metrics | compared,
        result.passes,
        prediction_of(image),
    )
    metrics["simulated_cycles"], metrics["simulated_seconds"] = metrics.pop("cycles"), result.seconds
    await tb.finish(scoreboard, **metrics)

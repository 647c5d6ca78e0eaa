# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the whole machine; bench.py lists them."""

from pathlib import Path

import cocotb
import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.model.encoding import glb_write_bytes
from eyrie.model.machine import Machine
from eyrie.runtime.figures import figures as network_figures
from eyrie.runtime.results import comparison, write_page
from eyrie.testing.demo_net import demo_input, demo_network
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES
from tb.net.host import Host, Result


def compare_run(board: Scoreboard, image: Image, contents: np.ndarray, result: Result) -> None:
    """Every pass's signature and the counters, against the command-level model.

    contents: the memory before the run.
    """
    expected: list[int] = []
    machine = Machine(contents.copy(), image.machine, observe=lambda t: expected.append(t.signature))
    machine.run(image.program)
    board.compare(len(expected), len(result.passes), "passes")
    for number, (want, got) in enumerate(zip(expected, result.passes)):
        board.compare(want, got["signature"], f"signature of the ofmap of pass {number}")
    # The machine fetches commands ahead, beyond END: only their useful part is the model's.
    counters = dict(result.counters)
    counters["DRAM_READ_BYTES"] -= counters["COMMAND_BYTES"]
    machine.counters["DRAM_READ_BYTES"] -= machine.counters["COMMAND_BYTES"]
    for name, value in machine.counters.items():
        if name != "COMMAND_BYTES":
            board.compare(value, counters[name], f"counter {name}")


async def run_compared(
    host: Host,
    board: Scoreboard,
    image: Image,
    inputs: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    about: object,
) -> Result:
    """Runs a network; every pass, the counters and all outputs, by name, against the model and what is expected."""
    contents = image.with_inputs(inputs)
    result = await host.run(contents, image.program, CYCLE_LIMIT)
    board.compare(0, int(result.error), f"{about}: error code")
    compare_run(board, image, contents, result)
    outputs = image.outputs(host.memory)
    for name, golden in expected.items():
        board.compare(golden.tolist(), outputs[name].tolist(), f"{about}: {name}")
    return result


def compare_glb_bytes(board: Scoreboard, image: Image, result: Result) -> None:
    """What goes into the GLB is what the DMA loads and the int8 ofmaps, to the byte: no partial sums, no intermediate
    of a fused group. Of maps with whole words of channels: depthwise work writes the rest of a word, too."""
    ofmaps = image.images * sum(int(np.prod(step["made"])) for step in image.map["steps"])
    loaded = result.counters["GLB_LOAD_BYTES"]
    board.compare(loaded + ofmaps, glb_write_bytes(result.counters), "bytes written into the GLB")


@cocotb.test()
async def runs_network(dut) -> None:
    """The shipped network on the demo photo."""
    tb = Testbench(dut)
    board = Scoreboard("net")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    graph, image = demo_network(tb.machine)
    values = demo_input()
    contents = image.with_input(values)
    result = await host.run(contents, image.program, CYCLE_LIMIT)
    board.compare(0, int(result.error), "error code")
    compare_run(board, image, contents, result)
    compare_glb_bytes(board, image, result)
    golden, outputs = graph.run_images(values[None]), image.output(host.memory)[None]
    board.compare(golden, outputs, "logits")
    dut._log.info("%s", result.counters)
    compared, answers = comparison([outputs], [golden])
    figures = network_figures(image, result.counters, result.passes) | answers
    write_page(Path.cwd(), "MobileNetV1 on the demo photo", image, figures | compared, result.passes)
    figures["simulated_cycles"], figures["simulated_seconds"] = figures.pop("cycles"), result.seconds
    await tb.finish(board, **figures)

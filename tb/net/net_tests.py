"""cocotb tests of the whole machine; bench.py lists them."""

import os
from pathlib import Path

import cocotb
import numpy as np

from compiler.image import Image
from model.machine import Machine
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.demo_net import demo_input, demo_network
from tb.net.host import Host, Result

DRAM_BYTES = 4 << 20
CYCLE_LIMIT = 5_000_000


def compare_passes(board: Scoreboard, image: Image, values: np.ndarray, result: Result) -> np.ndarray:
    """Every pass's signature, DRAM and GLB bytes, against the command-level model; returns its DRAM."""
    expected: list[int] = []
    machine = Machine(image.with_input(values), observe=lambda trace: expected.append(trace.signature))
    machine.run(image.program)
    board.compare(len(expected), len(result.passes), "passes")
    for number, (want, got) in enumerate(zip(expected, result.passes)):
        board.compare(want, got["signature"], f"signature of the ofmap of pass {number}")
    for name, value in machine.counters.items():
        board.compare(value, result.counters[name], f"counter {name}")
    return machine.dram


@cocotb.test()
async def runs_network(dut) -> None:
    """The shipped network on the demo photo."""
    tb = Testbench(dut)
    board = Scoreboard("net")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    graph, image = demo_network()
    values = demo_input()
    result = await host.run(image.with_input(values), image.program, CYCLE_LIMIT)
    board.compare(0, int(result.error), "error code")
    compare_passes(board, image, values, result)
    golden = graph.run(values[None])[graph.output.name][0]
    board.compare(golden.tolist(), image.output(host.memory).tolist(), "logits")
    dut._log.info("%s", result.counters)
    await tb.finish(board, **{name.lower(): value for name, value in result.counters.items()})


@cocotb.test()
async def runs_requests(dut) -> None:
    """The network and inputs of EYRIE_NET (a folder: compiled network), EYRIE_INPUT and EYRIE_OUTPUT
    (.npy files, int8 [N, H, W, C]); results of each image go to the output file and, as .json, beside."""
    import json

    tb = Testbench(dut)
    board = Scoreboard("net")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    image = Image.load(os.environ["EYRIE_NET"])
    inputs = np.load(os.environ["EYRIE_INPUT"])
    outputs, results = [], []
    for number, values in enumerate(inputs):
        result = await host.run(image.with_input(values), image.program, CYCLE_LIMIT)
        board.compare(0, int(result.error), f"error code of image {number}")
        outputs.append(image.output(host.memory).copy())
        results.append({"counters": result.counters, "passes": result.passes})
        dut._log.info("image %d of %d: %d cycles", number + 1, len(inputs), result.counters["CYCLES"])
    target = Path(os.environ["EYRIE_OUTPUT"])
    np.save(target, np.stack(outputs))
    target.with_suffix(".json").write_text(json.dumps(results))
    await tb.finish(board)

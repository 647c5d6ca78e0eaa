# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of whole passes; bench.py lists them."""

from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

from compiler.cases import Case
from model import encoding
from model.config import DEFAULT
from model.passes import run_pass
from tb.common import layers
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

PASS_LIMIT_NS = 1_000_000  # half a million cycles

ACTIVITIES = ("ifmap stall", "filter stall", "drain busy", "drain stall")  # of pass_tb's activity_o

CASES = [
    dict(e=8, p=4, q=4, r=1, t=2, width=16),
    dict(e=8, p=4, q=3, r=1, t=2, width=32),
    dict(e=8, p=4, q=4, r=2, t=1, width=16),
    dict(e=4, p=4, q=4, r=2, t=2, width=16),
    dict(e=4, p=4, q=4, r=1, t=4, width=16),
    dict(e=16, p=4, q=4, r=1, t=1, width=16),
]


async def run_on_rtl(tb: Testbench, case: Case,
                     limit_ns: int = PASS_LIMIT_NS) -> tuple[np.ndarray, np.ndarray, int]:
    """One pass: sums that left (int32 [beats, cols]), the GLB afterwards, cycles."""
    glb = np.zeros(DEFAULT.glb_words, np.uint64)
    glb[: len(case.glb)] = case.glb
    write_hex("image.hex", glb)
    write_hex("config.hex", case.descriptor.words)
    tb.dut.start_i.value = 1
    await with_timeout(RisingEdge(tb.dut.done_o), limit_ns, "ns")
    cycles = int(tb.dut.cycles_o.value)
    tb.dut.start_i.value = 0
    await ClockCycles(tb.clock, 2)
    sums = [[int(word, 16) for word in line.split()] for line in Path("sums.hex").read_text().splitlines()]
    after = [int(line, 16) for line in Path("dump.hex").read_text().split()]
    return np.array(sums, np.uint32).view(np.int32), np.array(after, np.uint64), cycles


def write_hex(name: str, words) -> None:
    Path(name).write_text("\n".join(f"{int(word):016x}" for word in words))


async def check_layer(tb: Testbench, board: Scoreboard, layer: layers.Layer, about: str) -> int:
    """Runs a layer's passes; compares sums and GLB with the pass model, results with the operators."""
    gathered = None if layer.sums is None else np.zeros_like(layer.sums)
    cycles = 0
    for case, filters, rows in layer.parts:
        expected_glb = np.zeros(DEFAULT.glb_words, np.uint64)
        expected_glb[: len(case.glb)] = case.glb
        trace = run_pass(DEFAULT, case.descriptor, expected_glb)
        sums, glb, took = await run_on_rtl(tb, case)
        cycles += took
        shaped = trace.sums.reshape(-1, DEFAULT.cols)
        used = case.places[..., 0].reshape(-1, DEFAULT.cols) >= 0
        board.compare(shaped.shape, sums.shape, f"{about}: number of sums")
        board.compare(np.where(used, shaped, 0).tolist(), np.where(used, sums, 0).tolist(), f"{about}: sums")
        board.compare(expected_glb.tolist(), glb.tolist(), f"{about}: GLB after the pass")
        if gathered is not None:
            gathered[filters, rows] = case.gather(sums.reshape(trace.sums.shape))
        if layer.ofmap is not None:
            place = case.ofmap
            words = glb[place.address : place.address + place.words].reshape(place.rows, place.groups, place.pitch)
            got = place.unpack(words, layer.ofmap.shape[2])
            board.compare(layer.ofmap.tolist(), got.tolist(), f"{about}: ofmap")
    if gathered is not None:
        board.compare(layer.sums.tolist(), gathered.tolist(), f"{about}: layer sums")
    return cycles


def draw(rng: np.random.Generator, kind: str) -> tuple[layers.Layer, str]:
    """A random layer of a kind."""
    if kind == "convolution":
        case = dict(CASES[rng.integers(len(CASES))])
        width = case.pop("width")
        return layers.convolution(rng, case, width), f"{case}"
    stride = int(rng.integers(1, 3)) if kind != "pointwise" else 1
    rows, cols = (int(v) for v in rng.integers(3, 18, 2))
    channels, filters = int(rng.integers(1, 50)), int(rng.integers(1, 150))
    pads = (1, 1, 1, 1) if stride == 1 or rng.random() < 0.5 else (0, 1, 0, 1)
    about = f"{kind} C={channels} M={filters} H={rows} W={cols} U={stride} pads={pads}"
    return layers.separable(rng, kind, channels, filters, rows, cols, stride, pads), about


@cocotb.test()
async def runs_layers(dut) -> None:
    """Random layers of the bench's kind."""
    tb = Testbench(dut)
    board = Scoreboard("pass")
    dut.start_i.value = 0
    dut.stall_i.value = tb.arguments["stall"]
    await tb.reset()
    cycles = 0
    for _ in range(tb.arguments.get("layers", 6)):
        layer, about = draw(tb.rng, tb.arguments["kind"])
        dut._log.info(about)
        took = await check_layer(tb, board, layer, about)
        dut._log.info("%d cycles", took)
        cycles += took
    for n, name in enumerate(ACTIVITIES):
        ports = dut.waits_o, dut.activity_o
        waited, reported = (int(port.value) >> 32 * n & 0xFFFFFFFF for port in ports)
        board.compare(waited, reported, f"cycles of {name}")
    assert encoding.CONFIG_WORDS == 128
    await tb.finish(board, pass_cycles=cycles)

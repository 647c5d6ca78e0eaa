# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of whole passes; bench.py lists them."""

from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout

from eyrie.compiler.single_layer.layer_run import Case
from eyrie.model.config import WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.passes import run_pass
from eyrie.testing import layers, pass_layers
from tb.common.bench import PERIOD_NS, Testbench
from tb.common.scoreboard import Scoreboard

ACTIVITIES = ("ifmap stall", "filter stall", "drain busy", "drain stall")  # of pass_tb's activity_o

GUARD_WORDS = 64  # behind a case in the GLB: nobody writes there
FULL_WORDS = 8192  # a GLB of up to so many words is looked at as a whole


async def run_on_rtl(tb: Testbench, case: Case) -> tuple[np.ndarray, np.ndarray, int]:
    """One pass: sums that left (int32 [of a column, cols]), the GLB afterwards, as far as it is looked at, cycles."""
    glb = image_of(tb.config, case)
    write_hex("image.hex", glb)
    tb.dut.words_i.value = len(glb)
    write_hex("config.hex", case.descriptor.words)
    tb.dut.start_i.value = 1
    limit = 4 * len(glb) + most_cycles(tb.config, case.descriptor)
    try:
        await with_timeout(RisingEdge(tb.dut.done_o), limit * PERIOD_NS, "ns")
    except SimTimeoutError:
        raise AssertionError(f"the pass does not end within {limit} cycles") from None
    cycles = int(tb.dut.cycles_o.value)
    tb.dut.start_i.value = 0
    await ClockCycles(tb.clock, 2)
    sums = [[int(word, 16) for word in line.split()] for line in Path("sums.hex").read_text().splitlines()]
    after = [int(line, 16) for line in Path("dump.hex").read_text().split()]
    sums = np.array(sums, np.uint32).reshape(-1, tb.config.cols)
    return sums.view(np.int32), np.array(after, np.uint64), cycles


def most_cycles(config: AcceleratorConfig, descriptor: Descriptor) -> int:
    """More cycles than a pass can take, so that one that hangs ends."""
    loops, shape = descriptor.loops, descriptor.shape
    groups = loops["groups"] * loops["inner"] * loops["tiles"] * loops["outer"]
    words = shape["pixels"] * max(shape["filters_0"], 1) * shape["taps"] * WORD_CHANNELS // config.multipliers
    return 100_000 + 50 * groups * (words + 64)


def image_of(config: AcceleratorConfig, case: Case) -> np.ndarray:
    """The GLB before a pass, uint64: all of it, or of a large one what the case uses and some words behind it."""
    glb = np.zeros(min(config.glb_words, max(FULL_WORDS, len(case.glb) + GUARD_WORDS)), np.uint64)
    glb[: len(case.glb)] = case.glb
    return glb


def write_hex(name: str, words) -> None:
    Path(name).write_text("\n".join(f"{int(word):016x}" for word in words))


async def check_layer(tb: Testbench, scoreboard: Scoreboard, layer: layers.Layer, about: str) -> int:
    """Runs a layer's passes; compares sums and GLB with the pass model, results with the operators."""
    gathered = None if layer.sums is None else np.zeros_like(layer.sums)
    cycles = 0
    for case, filters, rows in layer.parts:
        expected_glb = image_of(tb.config, case)
        trace = run_pass(tb.config, case.descriptor, expected_glb)
        sums, glb, took = await run_on_rtl(tb, case)
        cycles += took
        shaped = trace.sums.reshape(-1, tb.config.cols)
        used = case.places[..., 0].reshape(-1, tb.config.cols) >= 0
        scoreboard.compare(shaped.shape, sums.shape, f"{about}: number of sums")
        scoreboard.compare(np.where(used, shaped, 0).tolist(), np.where(used, sums, 0).tolist(), f"{about}: sums")
        scoreboard.compare(expected_glb.tolist(), glb.tolist(), f"{about}: GLB after the pass")
        if gathered is not None:
            gathered[filters, rows] = case.gather(sums.reshape(trace.sums.shape))
        if layer.ofmap is not None:
            place = case.ofmap
            words = glb[place.address : place.address + place.words].reshape(place.rows, place.groups, place.pitch)
            expected = layer.ofmap[rows, :, filters]
            got = place.unpack(words, expected.shape[2])
            scoreboard.compare(expected.tolist(), got.tolist(), f"{about}: ofmap")
    if gathered is not None:
        scoreboard.compare(layer.sums.tolist(), gathered.tolist(), f"{about}: layer sums")
    return cycles


@cocotb.test()
async def runs_layers(dut) -> None:
    """Random layers of the bench's kinds, in turn, but for those that the accelerator does not run."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("pass")
    dut.start_i.value = 0
    dut.stall_i.value = tb.arguments["stall"]
    await tb.reset()
    cycles, drawn = 0, dict.fromkeys(pass_layers.FINISHES, 0)
    kinds = [kind for kind in tb.arguments["kinds"] if pass_layers.why_not(kind, tb.config) is None]
    for number in range(pass_layers.layers_to_draw(tb.arguments["layers"], kinds)):
        layer, about = pass_layers.draw(tb.rng, kinds[number % len(kinds)], tb.config)
        dut._log.info(about)
        for case, *_ in layer.parts:
            for finish in pass_layers.finishes(case.descriptor):
                drawn[finish] += 1
        took = await check_layer(tb, scoreboard, layer, about)
        dut._log.info("%d cycles", took)
        cycles += took
    for n, name in enumerate(ACTIVITIES):
        ports = dut.waits_o, dut.activity_o
        waited, reported = (int(port.value) >> 32 * n & 0xFFFFFFFF for port in ports)
        scoreboard.compare(waited, reported, f"cycles of {name}")
    scoreboard.compare(0, int(dut.overrun_o.value), "overrun words")
    assert all(drawn[kind] for kind in kinds if kind in drawn), f"passes with each finish: {drawn}"
    await tb.finish(scoreboard, pass_cycles=cycles, finishes=drawn)

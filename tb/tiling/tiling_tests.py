# SPDX-License-Identifier: Apache-2.0
"""Tiling controller, DMA, AXI ports and register file, together."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from eyrie.model.encoding import Opcode
from tb.common.bench import Testbench
from tb.tiling.harness import WINDOW, Harness
from tb.tiling.programs import Program

LOAD, STORE = Opcode.LOAD, Opcode.STORE


@cocotb.test()
async def random_lists(dut):
    """Random command lists leave DRAM, GLB and counters as if executed one by one."""
    tb = Testbench(dut)
    harness = Harness(tb, tb.arguments.get("stall", 0.0), tb.arguments.get("high", False))
    harness.memory(**tb.arguments.get("memory", {}))
    await harness.begin()
    for run in range(tb.arguments.get("runs", 3)):
        await harness.good_run(tb.arguments.get("commands", 120), f"run {run}")
    await tb.finish(harness.handed, harness.results)


async def _interrupt(harness: Harness, program: Program) -> None:
    """Starts a program and resets the accelerator after a while."""
    harness.store_program(program)
    await harness.start(program)
    await ClockCycles(harness.dut.clk_i, int(harness.tb.rng.integers(1, 1500)))
    await harness.soft_reset()


@cocotb.test()
async def interruptions(dut):
    """A soft reset at any moment brings all bursts to their end and leaves an accelerator that works."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments.get("high", False))
    harness.memory(**tb.arguments["memory"])
    await harness.begin()
    for run in range(tb.arguments["runs"]):
        program = harness.program(WINDOW[0])
        for _ in range(30):
            opcode = LOAD if tb.rng.random() < 0.5 else STORE
            words, place = (int(value) for value in tb.rng.integers(1, 400, 2))
            program.transfer(opcode, 0x40000 + 8 * place, int(tb.rng.integers(4000)), words)
        program.end()
        await _interrupt(harness, program)
        # Stores alone: what has not been written is as it was.
        program = harness.program(WINDOW[0])
        expected = harness.dram.copy()
        for number in range(12):
            words, place = int(tb.rng.integers(1, 400)), int(tb.rng.integers(4000))
            row = 0x8000 + 512 * number
            program.transfer(STORE, 8 * row, place, words)
            expected[row : row + words] = harness.glb[place : place + words]
        program.end()
        old = harness.dram.copy()
        await _interrupt(harness, program)
        untouched = harness.dram[0x8000:] == old[0x8000:]
        written = np.where(untouched, old[0x8000:], expected[0x8000:])
        harness.results.compare(written, harness.dram[0x8000:], f"run {run}: stores cut short")
        await harness.good_run(12, f"run {run}")
    await tb.finish(harness.handed, harness.results)


@cocotb.test()
async def transfer_rates(dut):
    """LOADs fill the port: words per cycle from the first to the last word in the GLB."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments.get("high", False))
    harness.memory(latency=tb.arguments["latency"])
    await harness.begin()
    metrics = {}
    for name, count, words, least in (("long", 1, 4096, 0.95), ("short", 8, 64, 0.90)):
        program = harness.program(WINDOW[0])
        for number in range(count):
            program.transfer(LOAD, 0x20000 + 8 * words * number, words * number, words)
        program.end()
        harness.store_program(program)
        expected = harness.glb.copy()
        expected[: count * words] = harness.dram[0x4000 : 0x4000 + count * words]
        await harness.start(program)
        await harness.end()
        cycles = int(dut.last_beat_o.value) - int(dut.first_beat_o.value) + 1
        metrics[f"{name}_cycles"] = cycles
        rate = count * words / cycles
        harness.results.expect(True, f"{name}: {rate:.3f} words a cycle")
        harness.results.observe(rate >= least)
        harness.results.compare(expected, harness.glb, name)
    await tb.finish(harness.results, **metrics)

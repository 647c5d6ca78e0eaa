# SPDX-License-Identifier: Apache-2.0
"""Tiling controller, DMA, AXI ports and register file, together."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from eyrie.model.encoding import Opcode
from tb.common.bench import Testbench
from tb.tiling.machine import WINDOW, Machine
from tb.tiling.programs import Program

LOAD, STORE = Opcode.LOAD, Opcode.STORE


@cocotb.test()
async def random_lists(dut):
    """Random command lists leave DRAM, GLB and counters as if executed one by one."""
    tb = Testbench(dut)
    machine = Machine(tb, tb.arguments.get("stall", 0.0), tb.arguments.get("high", False))
    machine.memory(**tb.arguments.get("memory", {}))
    await machine.begin()
    for run in range(tb.arguments.get("runs", 3)):
        await machine.good_run(tb.arguments.get("commands", 120), f"run {run}")
    await tb.finish(machine.handed, machine.results)


async def _interrupt(machine: Machine, program: Program) -> None:
    """Starts a program and resets the machine after a while."""
    machine.store_program(program)
    await machine.start(program)
    await ClockCycles(machine.dut.clk_i, int(machine.tb.rng.integers(1, 1500)))
    await machine.soft_reset()


@cocotb.test()
async def interruptions(dut):
    """A soft reset at any moment brings all bursts to their end and leaves a machine that works."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    machine.memory(**tb.arguments["memory"])
    await machine.begin()
    for run in range(tb.arguments["runs"]):
        program = machine.program(WINDOW[0])
        for _ in range(30):
            opcode = LOAD if tb.rng.random() < 0.5 else STORE
            words, place = (int(value) for value in tb.rng.integers(1, 400, 2))
            program.transfer(opcode, 0x40000 + 8 * place, int(tb.rng.integers(4000)), words)
        program.end()
        await _interrupt(machine, program)
        # Stores alone: what has not been written is as it was.
        program = machine.program(WINDOW[0])
        expected = machine.dram.copy()
        for number in range(12):
            words, place = int(tb.rng.integers(1, 400)), int(tb.rng.integers(4000))
            row = 0x8000 + 512 * number
            program.transfer(STORE, 8 * row, place, words)
            expected[row : row + words] = machine.glb[place : place + words]
        program.end()
        old = machine.dram.copy()
        await _interrupt(machine, program)
        untouched = machine.dram[0x8000:] == old[0x8000:]
        written = np.where(untouched, old[0x8000:], expected[0x8000:])
        machine.results.compare(written, machine.dram[0x8000:], f"run {run}: stores cut short")
        await machine.good_run(12, f"run {run}")
    await tb.finish(machine.handed, machine.results)


@cocotb.test()
async def transfer_rates(dut):
    """LOADs fill the port: words per cycle from the first to the last word in the GLB."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    machine.memory(latency=tb.arguments["latency"])
    await machine.begin()
    figures = {}
    for name, count, words, least in (("long", 1, 4096, 0.95), ("short", 8, 64, 0.90)):
        program = machine.program(WINDOW[0])
        for number in range(count):
            program.transfer(LOAD, 0x20000 + 8 * words * number, words * number, words)
        program.end()
        machine.store_program(program)
        expected = machine.glb.copy()
        expected[: count * words] = machine.dram[0x4000 : 0x4000 + count * words]
        await machine.start(program)
        await machine.end()
        cycles = int(dut.last_beat_o.value) - int(dut.first_beat_o.value) + 1
        figures[f"{name}_cycles"] = cycles
        rate = count * words / cycles
        machine.results.expect(True, f"{name}: {rate:.3f} words a cycle")
        machine.results.observe(rate >= least)
        machine.results.compare(expected, machine.glb, name)
    await tb.finish(machine.results, **figures)

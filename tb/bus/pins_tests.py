# SPDX-License-Identifier: Apache-2.0
"""The chip's pins: no output follows an AXI or AXI-Lite input within a cycle."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, Timer

from eyrie.model.encoding import Opcode, Register
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.sim import dram
from tb.tiling.programs import Program
from tb.tiling.registers import BUS_WAITS, BUSY, DONE, ERROR, SOFT_RESET, START, Registers

BYTES, LIST = 1 << 20, 1 << 16
CYCLES = 120  # looked at in each state
STALLED = 700  # cycles after which the accelerator has come to a channel that stalls
MOST_WORDS = STALLED // 3  # of a transfer: two of a kind may come one behind the other


def transfers(rng: np.random.Generator, pairs: int) -> Program:
    """Of a load and a store, whichever is first: the bus never waits for either one long."""
    program = Program(LIST)
    for opcode in (each for _ in range(pairs) for each in rng.permutation([Opcode.LOAD, Opcode.STORE])):
        program.transfer(
            Opcode(opcode),
            0x40000 + 8 * int(rng.integers(1000)),
            int(rng.integers(4000)),
            int(rng.integers(1, MOST_WORDS)),
        )
    program.end()
    return program


class Pins:
    """Flips inputs within cycles and compares all outputs."""

    def __init__(self, tb: Testbench, scoreboard: Scoreboard) -> None:
        self.tb, self.scoreboard, self.registers = tb, scoreboard, Registers(tb)
        dut = tb.dut
        dut.flip_i.value = 0
        dut.trace_pass_i.value = dut.trace_select_i.value = 0
        dut.bytes_i.value, dut.outside_i.value = BYTES, dram.DECERR
        self.memory(latency=20)

    def memory(self, latency: int, stall: int = 0, dead: int = 0) -> None:
        dut = self.tb.dut
        dut.latency_i.value, dut.beats_i.value, dut.cycles_i.value = latency, 0, 0
        dut.stall_i.value, dut.dead_i.value = stall, dead

    async def look(self, state: str, cycles: int = CYCLES) -> None:
        """So many cycles: in each, random inputs flip, or one, or all, and go back before the clock edge."""
        dut, rng = self.tb.dut, self.tb.rng
        inputs = len(dut.flip_i)
        for n in range(cycles):
            await FallingEdge(dut.clk_i)
            await Timer(0.1, "ns")  # what the bench itself has written is there
            before = int(dut.outputs_o.value)
            some = int.from_bytes(rng.bytes(32)) % (1 << inputs)
            flips = ((1 << inputs) - 1, 1 << int(rng.integers(inputs)), some)[n % 3]
            dut.flip_i.value = flips
            await Timer(0.2, "ns")
            after = int(dut.outputs_o.value)
            dut.flip_i.value = 0
            await Timer(0.2, "ns")
            self.scoreboard.compare(hex(before), hex(after), f"{state}: outputs with {flips:#x} flipped")

    async def start(self, program: Program) -> None:
        memory = dram.view(self.tb.dut.dram_pointer_o, BYTES).view("<u8")
        memory[LIST // 8 :][: len(program.words)] = np.array(program.words, np.uint64)
        for register, value in (
            (Register.WINDOW_LIMIT, BYTES),
            (Register.PROGRAM_BASE, program.base),
            (Register.INTERRUPT_ENABLE, 1),
            (Register.CONTROL, START),
        ):
            await self.registers.write(register, value)

    async def idle(self) -> None:
        """Returns when the soft reset has come to its end."""
        for _ in range(1000):
            if not await self.registers.value(Register.STATUS):
                return
        raise AssertionError("the accelerator is not idle long after a soft reset")

    async def status(self, wanted: int, state: str) -> None:
        """The accelerator is in the state that was looked at."""
        self.scoreboard.compare(wanted, await self.registers.value(Register.STATUS) & ~8, f"{state}: status")


@cocotb.test()
async def cut(dut) -> None:
    """Idle, running, with every channel stalled in turn, after an error, in a soft reset, while registers are
    accessed."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("pins")
    pins = Pins(tb, scoreboard)
    await tb.reset()
    await ClockCycles(tb.clock, 2)
    await pins.look("idle")

    # Each look takes so many cycles that the list has to be long; the watchdog is off.
    for name, memory in (("fast", {"latency": 5}), ("slow", {"latency": 40, "stall": 128})):
        pins.memory(**memory)
        await pins.start(transfers(tb.rng, 50))
        await pins.look(f"running, {name}", 3 * CYCLES)
        await pins.status(BUSY, name)
        await pins.registers.write(Register.CONTROL, SOFT_RESET)
        await pins.look(f"soft reset, {name}", CYCLES)
        await pins.idle()

    for channel in range(5):
        pins.memory(latency=5)
        await pins.start(transfers(tb.rng, 50))
        await ClockCycles(tb.clock, int(tb.rng.integers(50, 1000)))
        pins.memory(latency=5, dead=1 << channel)
        await ClockCycles(tb.clock, STALLED)
        await pins.look(f"channel {channel} stalled")
        await pins.status(BUSY, f"channel {channel} stalled")
        await pins.registers.write(Register.CONTROL, SOFT_RESET)
        await pins.look(f"channel {channel} stalled in a soft reset")
        await pins.status(BUSY | BUS_WAITS, f"channel {channel} in a soft reset")
        pins.memory(latency=5)
        await pins.idle()

    await pins.start(Program(LIST, [0]))  # no command
    await ClockCycles(tb.clock, 200)
    await pins.look("error")
    await pins.status(ERROR, "error")
    await pins.registers.write(Register.CONTROL, SOFT_RESET)
    await pins.idle()

    # Accesses to registers in all their stages: a second task keeps them going.
    accesses = cocotb.start_soon(_accesses(pins))
    await pins.look("register accesses", 3 * CYCLES)
    accesses.cancel()
    pins.registers = Registers(tb)  # an access may be cut short: its pins go low
    await tb.reset()
    await pins.start(Program(LIST, transfers(tb.rng, 1).words))
    await ClockCycles(tb.clock, 3000)
    await pins.status(DONE, "the last run")
    await tb.finish(scoreboard)


async def _accesses(pins: Pins) -> None:
    while True:
        await pins.registers.write(Register.WATCHDOG_LIMIT, int(pins.tb.rng.integers(1 << 32)))
        await pins.registers.value(Register.WATCHDOG_LIMIT)

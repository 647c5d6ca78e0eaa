# SPDX-License-Identifier: Apache-2.0
"""Sequences of the whole accelerator: run a program, fail and recover, reset on the way."""

from dataclasses import dataclass, replace

import numpy as np
from cocotb.triggers import ClockCycles, First, Timer
from pyuvm import uvm_sequence

from eyrie.model.encoding import Counter, ErrorCode, Register, counter_register
from tb.common.bench import PERIOD_NS
from tb.net.agents import DramItem, RegisterItem, Timing
from tb.net.environment import AcceleratorEnvironment
from tb.net.faults import Faulty
from tb.net.programs import Network, Program
from tb.net.reference import Outcome, run_model
from tb.pe_array.agents import OneItem
from tb.tiling.registers import BUS_WAITS, BUSY, CLEAR_INTERRUPT, DONE, ERROR, INTERRUPT, OKAY, SOFT_RESET, START

# Of a run; and more for each byte of its memory: 8 bytes take up to 12 cycles, and some come several times.
CYCLE_LIMIT, CYCLES_A_BYTE = 3_000_000, 8
IDLE_LIMIT = 200  # reads of STATUS until an accelerator that was reset is idle


@dataclass(frozen=True)
class Pace:
    """How a program is run. polled: the host asks for the end, the interrupt is off; watchdog: cycles."""

    timing: Timing
    polled: bool
    watchdog: int


def draw_pace(rng: np.random.Generator, slow: bool) -> Pace:
    """slow: less than a beat every other cycle and stalls everywhere; else often at full speed."""
    latency, cycles = int(rng.integers(1, 101)), int(rng.integers(2, 17))
    if slow:
        timing = Timing(latency, int(rng.integers(1, cycles // 2 + 1)), cycles, int(rng.integers(64, 225)))
    else:
        beats = int(rng.choice([0, 0, rng.integers(1, cycles + 1)]))
        timing = Timing(latency, beats, cycles, int(rng.choice([0, 0, rng.integers(1, 128)])))
    return Pace(timing, bool(rng.random() < 0.2), int(rng.integers(2000, 5000)))


class ProgramSequence(uvm_sequence):
    """What a sequence needs that runs a program at a pace; those below add `body`."""

    def __init__(self, env: AcceleratorEnvironment, program: Program, pace: Pace) -> None:
        super().__init__("program")
        self.env, self.rng, self.program, self.pace = env, env.tb.rng, program, pace

    async def read(self, register: int) -> int:
        item = RegisterItem(register)
        await OneItem(item).start(self.env.registers.sequencer)
        return item.value

    async def counter(self, counter: Counter) -> int:
        low = await self.read(counter_register(counter))
        return low | await self.read(counter_register(counter) + 4) << 32

    async def write(self, register: Register, value: int) -> None:
        item = RegisterItem(register, value)
        await OneItem(item).start(self.env.registers.sequencer)
        self.env.compare(OKAY, item.value, f"response of {register.name}")

    async def load(self, program: Program) -> None:
        item = DramItem(self.pace.timing, program.base, program.contents)
        await OneItem(item).start(self.env.dram.sequencer)

    async def start_program(self) -> None:
        program, pace = self.program, self.pace
        for register, value in (
            (Register.WINDOW_BASE, program.window[0]),
            (Register.WINDOW_LIMIT, program.window[1]),
            (Register.PROGRAM_BASE, program.start),
            (Register.WATCHDOG_LIMIT, pace.watchdog),
            (Register.INTERRUPT_ENABLE, int(not pace.polled)),
            (Register.CONTROL, START),
        ):
            await self.write(register, value)

    async def end(self) -> tuple[int, ErrorCode, int]:
        """Waits until the accelerator stops; status, error code and address. The bus may still have to end what has
        begun."""
        env, most = self.env, CYCLE_LIMIT + CYCLES_A_BYTE * len(self.program.contents)
        limit = env.tb.cycles + most
        if self.pace.polled:
            while await self.read(Register.STATUS) & BUSY:
                await ClockCycles(env.tb.clock, 50)
                assert env.tb.cycles < limit, f"{env.about}: busy after {most} cycles"
        else:
            env.interrupts.scoreboard.expect(1, f"{env.about}: end")
            await First(env.interrupt.raised.wait(), Timer(most * PERIOD_NS, "ns"))
            assert env.interrupt.raised.is_set(), f"{env.about}: no interrupt after {most} cycles"
        status, code = await self.read(Register.STATUS), await self.read(Register.ERROR_CODE)
        return status & ~BUS_WAITS, ErrorCode(code), await self.read(Register.ERROR_ADDRESS)

    async def control(self, bits: int) -> None:
        """Writes CONTROL with bits that end an interrupt."""
        if not self.pace.polled and self.env.interrupt.raised.is_set():
            self.env.interrupts.scoreboard.expect(0, f"{self.env.about}: interrupt cleared")
        await self.write(Register.CONTROL, bits)

    async def soft_reset(self) -> None:
        """Resets the accelerator; returns when it is idle and nothing of the run before is left."""
        await self.control(SOFT_RESET)
        for _ in range(IDLE_LIMIT):
            if not await self.read(Register.STATUS):
                break
            await ClockCycles(self.env.tb.clock, 50)
        registers = (Register.STATUS, Register.ERROR_CODE, Register.ERROR_ADDRESS)
        self.env.compare([0, 0, 0], [await self.read(r) for r in registers], "status, error after a reset")

    def compare_output(self, network: Network) -> None:
        output = network.image.output(self.env.memory[self.program.base :])
        self.env.contents.compare(network.golden, output, f"{self.env.about}: output")


class RunSequence(ProgramSequence):
    """Runs a network's program to its end and compares all it leaves behind; `cycles` is how long it took."""

    def __init__(self, env: AcceleratorEnvironment, network: Network, program: Program, pace: Pace) -> None:
        super().__init__(env, program, pace)
        self.network = network

    async def body(self) -> None:
        env = self.env
        await self.load(self.program)
        self.outcome: Outcome = run_model(self.program, env.memory, self.rng, env.tb.config)
        assert self.outcome.code == ErrorCode.NONE, f"{self.program.about}: the model fails"
        env.expect(self.program.about, self.outcome)
        await self.start_program()
        end = await self.end()
        env.compare_end((DONE | INTERRUPT, ErrorCode.NONE, 0), end)
        counters = {counter.name: await self.counter(counter) for counter in Counter}
        self.cycles = counters["CYCLES"]
        await env.compare_counters(counters, self.outcome, timed=not self.pace.polled)
        await self.control(CLEAR_INTERRUPT)
        env.compare(DONE, await self.read(Register.STATUS), "status without the interrupt")
        env.compare_memory(self.outcome)
        self.compare_output(self.network)


class FaultSequence(ProgramSequence):
    """Runs a program that has to fail, then resets the accelerator.

    Stores under way when an accelerator stops may be cut short: of what has been written until the error,
    and of what the network writes, each word is there or is as before; all else is as before.
    """

    def __init__(self, env: AcceleratorEnvironment, faulty: Faulty, pace: Pace) -> None:
        super().__init__(env, faulty.program, pace)
        self.faulty = faulty

    async def body(self) -> None:
        env, program = self.env, self.program
        await self.load(self.faulty.good)
        good = run_model(self.faulty.good, env.memory, self.rng, env.tb.config)
        await self.load(program)
        before = env.memory.copy()
        outcome = run_model(program, before, self.rng, env.tb.config)
        right = self.faulty.passes_right
        env.expect(program.about, good if right else outcome, loose=not right)
        env.compare(self.faulty.code.name, outcome.code.name, "error code of the model")
        await self.start_program()
        end = await self.end()
        address = end[2] if end[2] in self.faulty.later else outcome.address
        env.compare_end((ERROR | INTERRUPT, outcome.code, address), end)
        for bits in self.rng.choice([START, CLEAR_INTERRUPT], self.rng.integers(3)).tolist():
            if bits == START:  # is ignored
                await self.write(Register.CONTROL, START)
            else:
                await self.control(CLEAR_INTERRUPT)
        status = await self.read(Register.STATUS)
        env.compare(ERROR, status & ~(INTERRUPT | BUS_WAITS), "status, still stopped")
        counted = await self.counter(Counter.PASSES)
        await self.soft_reset()
        await env.compare_passes()
        env.compare(True, counted <= env.passes.ended, f"{counted} passes counted")
        env.compare_memory(good, outcome, before=before)


class ResetSequence(ProgramSequence):
    """Starts a good program and resets the accelerator after so many cycles, most of the time before its end;
    with the interrupt off, as it may be in the middle of it."""

    def __init__(self, env: AcceleratorEnvironment, program: Program, pace: Pace, cycles: int) -> None:
        super().__init__(env, program, replace(pace, polled=True))
        self.cycles = cycles

    async def body(self) -> None:
        env = self.env
        await self.load(self.program)
        before = env.memory.copy()
        outcome = run_model(self.program, before, self.rng, env.tb.config)
        env.expect(f"{self.program.about}, reset after {self.cycles} cycles", outcome)
        await self.start_program()
        await ClockCycles(env.tb.clock, self.cycles)
        await self.soft_reset()
        await env.compare_passes()
        env.compare_memory(outcome, before=before)

# SPDX-License-Identifier: Apache-2.0
"""The host's side of the accelerator in simulation: memory, registers, start, interrupt, counters."""

import time
from dataclasses import dataclass

import numpy as np
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import Counter, ErrorCode, Register
from tb.common.bench import PERIOD_NS, Testbench
from tb.sim import dram
from tb.tiling.registers import CLEAR_INTERRUPT, START, Registers

WATCHDOG = 50_000


@dataclass(frozen=True)
class Result:
    """A run: the error code, the counters by name, for each pass the counters at its end with the
    signature of its ofmap, and the wall-clock time from start to interrupt."""

    error: ErrorCode
    error_address: int
    counters: dict[str, int]
    passes: list[dict[str, int]]
    seconds: float


def settings(program: int, dram_bytes: int, watchdog: int = WATCHDOG) -> list[tuple[Register, int]]:
    """What is written to registers for a run, in order, the start being the last."""
    return [
        (Register.WINDOW_BASE, 0),
        (Register.WINDOW_LIMIT, dram_bytes),
        (Register.PROGRAM_BASE, program),
        (Register.WATCHDOG_LIMIT, watchdog),
        (Register.INTERRUPT_ENABLE, 1),
        (Register.CONTROL, START),
    ]


async def watched(tb: Testbench) -> dict[Counter, int]:
    """Return the counts of the simulated SoC's activity_monitor for the ended run, by counter."""
    dut = tb.dut

    async def read(select: int, place: int) -> int:
        dut.trace_select_i.value, dut.trace_pass_i.value = select, place
        await ClockCycles(tb.clock, 2)
        return int(dut.trace_o.value)

    chosen = await read(len(Counter) + 3, 0)
    assert chosen, "the monitor watches nothing"
    return {c: await read(len(Counter) + 4, c) for c in Counter if chosen >> c & 1}


class Host:
    """Run programs on the simulated SoC."""

    def __init__(self, tb: Testbench, dram_bytes: int) -> None:
        self.tb, self.dram_bytes = tb, dram_bytes
        self.registers = Registers(tb)
        dut = tb.dut
        self.set_dram(DEFAULT)
        dut.stall_i.value = 0
        dut.bytes_i.value, dut.outside_i.value, dut.dead_i.value = dram_bytes, dram.DECERR, 0
        dut.trace_pass_i.value = dut.trace_select_i.value = dut.flip_i.value = 0

    def set_dram(self, config: AcceleratorConfig) -> None:
        """Set the times of the DRAM to those of a configuration."""
        dut = self.tb.dut
        dut.latency_i.value, dut.beats_i.value, dut.cycles_i.value = config.dram_latency, 1, config.dram_interval

    async def begin(self) -> None:
        await self.tb.reset()
        await ClockCycles(self.tb.clock, 2)
        self.memory = dram.view(self.tb.dut.dram_pointer_o, self.dram_bytes)

    async def run(self, contents: np.ndarray, program: int, limit: int, watchdog: int = WATCHDOG) -> Result:
        """Runs a program on DRAM contents (uint8, from address 0); at most `limit` cycles."""
        self.memory[: len(contents)] = contents
        write = self.registers.write
        *before, start = settings(program, self.dram_bytes, watchdog)
        for register, value in before:
            await write(register, value)
        began = time.perf_counter()
        await write(*start)
        await First(RisingEdge(self.tb.dut.interrupt_o), Timer(limit * PERIOD_NS, "ns"))
        seconds = time.perf_counter() - began
        assert int(self.tb.dut.interrupt_o.value), f"no interrupt after {limit} cycles"
        error = ErrorCode(await self.registers.value(Register.ERROR_CODE))
        address = await self.registers.value(Register.ERROR_ADDRESS)
        counters = {counter.name: await self.registers.counter(counter) for counter in Counter}
        passes = [await self._trace(n) for n in range(counters["PASSES"])]
        counted_again = {counter.name: count for counter, count in (await watched(self.tb)).items()}
        assert counters == counters | counted_again, f"{counters}, but from the handshakes {counted_again}"
        await write(Register.CONTROL, CLEAR_INTERRUPT)
        return Result(error, address, counters, passes, seconds)

    async def _trace(self, number: int) -> dict[str, int]:
        dut, values = self.tb.dut, []
        for select in range(len(Counter) + 2):
            dut.trace_pass_i.value, dut.trace_select_i.value = number, select
            await ClockCycles(self.tb.clock, 1)
            values.append(int(dut.trace_o.value))
        signature, pe_cycles = values[-2:]
        return {c.name: values[c] for c in Counter} | {"signature": signature, "pe_cycles": pe_cycles}

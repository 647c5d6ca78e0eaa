# SPDX-License-Identifier: Apache-2.0
"""pyuvm agents of the whole accelerator: registers, DRAM, interrupt, passes."""

from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, Event, FallingEdge, RisingEdge
from pyuvm import (
    ConfigDB,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_sequence_item,
)

from eyrie.model.config import DEFAULT
from eyrie.model.encoding import Counter, Register
from tb.common.bench import Testbench
from tb.net.reference import PassEnd
from tb.pe_array.agents import Agent
from tb.sim import dram
from tb.tiling.registers import START, Registers


@dataclass(frozen=True)
class Timing:
    """The DRAM's latency in cycles, its beats per cycles (0: one a cycle), its stalls in 1 / 256."""

    latency: int
    beats: int
    cycles: int
    stall: int


class RegisterItem(uvm_sequence_item):
    """A read, or with `data` a write. `value` is what was read, or the response of the write."""

    def __init__(self, register: int, data: int | None = None) -> None:
        super().__init__("access")
        self.register, self.data, self.value = register, data, 0


class DramItem(uvm_sequence_item):
    """How fast the DRAM is from now on, and `contents` (uint8) that lie from byte address `base` on."""

    def __init__(self, timing: Timing, base: int, contents: np.ndarray) -> None:
        super().__init__("dram")
        self.timing, self.base, self.contents = timing, base, contents


class RegisterDriver(uvm_driver):
    """Accesses the accelerator's registers."""

    def build_phase(self) -> None:
        self.registers = Registers(ConfigDB().get(self, "", "tb"))

    async def run_phase(self) -> None:
        while True:
            item = await self.seq_item_port.get_next_item()
            if item.data is None:
                item.value = await self.registers.value(item.register)
            else:
                item.value = await self.registers.write(item.register, item.data)
            self.seq_item_port.item_done()


class DramDriver(uvm_driver):
    """Sets the memory's pace and its contents, in bulk; `memory` (uint8) is all of it."""

    def build_phase(self) -> None:
        self.tb: Testbench = ConfigDB().get(self, "", "tb")
        self.bytes: int = ConfigDB().get(self, "", "dram_bytes")
        self.pace(Timing(DEFAULT.dram_latency, 0, 0, 0))
        dut = self.tb.dut
        dut.bytes_i.value, dut.outside_i.value = self.bytes, dram.DECERR
        dut.dead_i.value = dut.flip_i.value = 0

    def pace(self, timing: Timing) -> None:
        for name, value in vars(timing).items():
            getattr(self.tb.dut, f"{name}_i").value = value

    async def fill(self) -> None:
        """Random bytes everywhere; once, after the reset."""
        await ClockCycles(self.tb.clock, 2)
        self.memory = dram.view(self.tb.dut.dram_pointer_o, self.bytes)
        self.memory[:] = self.tb.rng.integers(0, 256, self.bytes, np.uint8)

    async def run_phase(self) -> None:
        while True:
            item = await self.seq_item_port.get_next_item()
            self.pace(item.timing)
            self.memory[item.base : item.base + len(item.contents)] = item.contents
            self.seq_item_port.item_done()


class RegisterAgent(Agent):
    driver_type = RegisterDriver


class DramAgent(Agent):
    driver_type = DramDriver


class StartMonitor(uvm_monitor):
    """Publishes the cycle in which the register port takes a start."""

    def build_phase(self) -> None:
        self.tb: Testbench = ConfigDB().get(self, "", "tb")
        self.port = uvm_analysis_port("port", self)

    async def run_phase(self) -> None:
        dut = self.tb.dut
        await RisingEdge(dut.rst_ni)
        while True:  # the port shows its response when it has taken address and data
            await RisingEdge(dut.reg_bvalid_o)
            address, data = int(dut.reg_awaddr_i.value), int(dut.reg_wdata_i.value)
            if (address, data) == (Register.CONTROL, START):
                self.port.write(self.tb.cycles)


class InterruptMonitor(uvm_monitor):
    """Publishes each change of the interrupt: (level, cycle); `raised` is set while it is high."""

    def build_phase(self) -> None:
        self.tb: Testbench = ConfigDB().get(self, "", "tb")
        self.port = uvm_analysis_port("port", self)
        self.raised = Event()

    async def run_phase(self) -> None:
        pin = self.tb.dut.interrupt_o
        await RisingEdge(self.tb.dut.rst_ni)  # before the reset outputs are random
        while True:
            await RisingEdge(pin)
            self.port.write((1, self.tb.cycles))
            self.raised.set()
            await FallingEdge(pin)
            self.port.write((0, self.tb.cycles))
            self.raised.clear()


class PassMonitor(uvm_monitor):
    """Publishes each pass done as a PassEnd, read from the trace of the simulated SoC; `ended` passes have been seen,
    `published` of them read."""

    def build_phase(self) -> None:
        self.tb: Testbench = ConfigDB().get(self, "", "tb")
        self.port = uvm_analysis_port("port", self)
        self.tb.dut.trace_pass_i.value = self.tb.dut.trace_select_i.value = 0
        self._more = Event()
        self.restart()

    def restart(self) -> None:
        """A run begins: passes count from 0."""
        self.ended = self.published = 0
        self._more.clear()

    async def run_phase(self) -> None:
        cocotb.start_soon(self._publish())
        await RisingEdge(self.tb.dut.rst_ni)
        while True:
            await RisingEdge(self.tb.dut.pass_done_o)
            self.ended += 1
            self._more.set()

    async def _publish(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self.published < self.ended:
                number = self.published
                signature, written = [await self._trace(number, select) for select in (len(Counter), len(Counter) + 2)]
                self.port.write(PassEnd(number, signature, written))
                self.published += 1

    async def _trace(self, number: int, select: int) -> int:
        self.tb.dut.trace_pass_i.value, self.tb.dut.trace_select_i.value = number, select
        await ClockCycles(self.tb.clock, 2)
        return int(self.tb.dut.trace_o.value)

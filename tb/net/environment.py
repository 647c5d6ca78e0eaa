# SPDX-License-Identifier: Apache-2.0
"""The pyuvm environment of the whole accelerator: agents, monitors, and a scoreboard for what each one sees.

A sequence tells `expect` what the model says of the program that it starts; the monitors' scoreboards compare
what the accelerator does, and the sequence hands in what it read back (`compare_*`).
"""

from dataclasses import replace

import numpy as np
from pyuvm import ConfigDB, uvm_component, uvm_env, uvm_subscriber

from eyrie.model.encoding import ErrorCode
from tb.common.scoreboard import Scoreboard
from tb.net.agents import DramAgent, InterruptMonitor, PassMonitor, RegisterAgent, StartMonitor
from tb.net.host import watched
from tb.net.reference import Outcome, PassEnd

START_LATENCY = 5  # cycles: from a start to the first that counts, and from the last one to the interrupt
FETCHED_AHEAD = 64  # command words at most


class PassScoreboard(uvm_subscriber):
    """Compares the passes of a run. Where a run stops early, those that end must be right."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.scoreboard = Scoreboard("passes")
        self.total = 0

    def expect(self, about: str, passes: list[PassEnd], loose: bool) -> None:
        """loose: what comes after these passes may happen and means nothing."""
        self.about, self.wanted, self.loose = about, passes, loose

    def write(self, end: PassEnd) -> None:
        self.total += 1
        wanted = self.wanted[end.number] if end.number < len(self.wanted) else None
        if wanted is not None or not self.loose:
            self.scoreboard.expect(wanted, f"{self.about}: pass {end.number}")
            self.scoreboard.observe(replace(end, signature=None) if wanted and wanted.signature is None else end)


class InterruptScoreboard(uvm_subscriber):
    """Compares the levels of the interrupt; keeps the cycle in which it last rose."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.scoreboard = Scoreboard("interrupt")
        self.rose = 0

    def write(self, change: tuple[int, int]) -> None:
        level, cycle = change
        self.scoreboard.observe(level)
        if level:
            self.rose = cycle


class StartScoreboard(uvm_subscriber):
    """Keeps the cycle of the last start."""

    cycle = 0

    def write(self, cycle: int) -> None:
        self.cycle = cycle


class AcceleratorEnvironment(uvm_env):
    """Agents `registers` and `dram`; scoreboards by what they compare."""

    def build_phase(self) -> None:
        self.tb = ConfigDB().get(self, "", "tb")
        self.registers = RegisterAgent("registers", self)
        self.dram = DramAgent("dram", self)
        self.starts, self.start_scoreboard = StartMonitor("starts", self), StartScoreboard("start_board", self)
        self.interrupt = InterruptMonitor("interrupt", self)
        self.interrupts = InterruptScoreboard("interrupts", self)
        self.passes, self.pass_scoreboard = PassMonitor("passes", self), PassScoreboard("pass_board", self)
        self.results, self.contents = Scoreboard("registers"), Scoreboard("memory")

    def connect_phase(self) -> None:
        self.starts.port.connect(self.start_scoreboard.analysis_export)
        self.interrupt.port.connect(self.interrupts.analysis_export)
        self.passes.port.connect(self.pass_scoreboard.analysis_export)

    @property
    def memory(self) -> np.ndarray:
        """All of the DRAM, uint8."""
        return self.dram.driver.memory

    @property
    def scoreboards(self) -> tuple[Scoreboard, ...]:
        return self.pass_scoreboard.scoreboard, self.interrupts.scoreboard, self.results, self.contents

    def expect(self, about: str, good: Outcome, loose: bool = False) -> None:
        """A run begins, whose passes are the first ones of `good`."""
        self.about = about
        self.passes.restart()
        self.pass_scoreboard.expect(about, good.passes, loose)

    def compare(self, expected: object, got: object, what: str) -> None:
        self.results.compare(expected, got, f"{self.about}: {what}")

    async def compare_counters(self, counters: dict[str, int], outcome: Outcome, timed: bool) -> None:
        """The counters of a run that came to its end, and how many passes the monitor saw.

        timed: the interrupt said when it ended.
        """
        got, wanted = dict(counters), dict(outcome.counters)
        # Commands are fetched ahead, beyond END; the rest of what is read is the model's.
        ahead = got.pop("COMMAND_BYTES") - wanted.pop("COMMAND_BYTES")
        self.compare(True, 0 <= ahead <= 8 * FETCHED_AHEAD, f"{ahead} bytes of commands in vain")
        got["DRAM_READ_BYTES"] -= ahead
        for name, value in wanted.items():
            self.compare(value, got[name], f"counter {name}")
        if timed:
            settled = int(self.tb.dut.activity_delay_o.value)
            cycles = self.interrupts.rose - self.start_scoreboard.cycle - START_LATENCY - settled
            self.compare(cycles, got["CYCLES"], "counter CYCLES")
        await self.compare_passes(len(outcome.passes), got["PASSES"])
        for counter, count in (await watched(self.tb)).items():
            self.compare(count, got[counter.name], f"counter {counter.name}, from the handshakes")

    async def compare_passes(self, *counts: int) -> None:
        """Waits for the monitor's last pass; it has to have seen as many as were counted."""
        await self.tb.until(lambda: self.passes.published == self.passes.ended, "the pass monitor", 5000)
        for count in counts:
            self.compare(count, self.passes.ended, "passes seen")

    def compare_memory(self, *outcomes: Outcome, before: np.ndarray | None = None) -> None:
        """The whole DRAM: each 64-bit word as one of the outcomes leaves it, or as before (uint8)."""
        got = self.memory.view(np.uint64)
        ways = [np.where(end.unwritten, self.memory, end.memory) for end in outcomes]
        wanted, *others = [way.view(np.uint64) for way in (*ways, before) if way is not None]
        for other in others:
            wanted = np.where(got == other, got, wanted)
        self.contents.compare(wanted, got, f"{self.about}: DRAM word")

    def compare_end(self, end: tuple[int, ErrorCode, int], got: tuple[int, ErrorCode, int]) -> None:
        """Status, error code, error address."""
        self.compare(end[0], got[0], "status")
        self.compare(end[1].name, got[1].name, f"error code ({got[1].name} at {got[2]:#x})")
        self.compare(hex(end[2]), hex(got[2]), f"error address of {end[1].name}")

# SPDX-License-Identifier: Apache-2.0
"""The frame of every cocotb test: clock, reset, randomness, the end and its summary.

@cocotb.test()
async def some_test(dut):
    tb = Testbench(dut)
    source = StreamDriver(tb, "in", idle=0.3)      # agents are made while the reset is active
    ...
    await tb.reset()
    ...                                            # queue stimulus and expectations
    await tb.finish(scoreboard)                    # waits, compares, writes the summary
"""

import json
import os
from collections.abc import Callable

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.handle import Immediate, SimHandleBase
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, Timer

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.simulator import summary
from eyrie.runtime.simulator.moments import PERIOD_NS, moment
from tb.common.scoreboard import Scoreboard


class Testbench:
    """Drives clk_i and rst_ni of `dut` and holds what a test's parts share.

    dut         the wrapper
    clock       its clk_i
    rng         numpy Generator, seeded with the run's seed: the only source of randomness
    arguments   the arguments of the test
    config      the configuration of the test
    """

    def __init__(self, dut: SimHandleBase) -> None:
        self.dut = dut
        self.clock = dut.clk_i
        self.rng = np.random.default_rng(cocotb.RANDOM_SEED)
        self.arguments: dict = json.loads(os.environ.get("EYRIE_ARGUMENTS", "{}"))
        sizes = json.loads(os.environ.get("EYRIE_CONFIG", "null"))
        self.config = None if sizes is None else AcceleratorConfig.of(sizes)
        self._start_ns = 0.0
        Scoreboard.moment = staticmethod(lambda: moment(get_sim_time("ns")))
        # At once, before the design is evaluated for the first time: its inputs start at random,
        # and a clock that starts high is an edge, out of reset if that starts high too.
        dut.clk_i.value = Immediate(0)
        dut.rst_ni.value = Immediate(0)
        Clock(self.clock, PERIOD_NS, unit="ns").start(start_high=False)
        if "EYRIE_CYCLES" in os.environ:
            cocotb.start_soon(self._fail_after(int(os.environ["EYRIE_CYCLES"])))

    async def _fail_after(self, cycles: int) -> None:
        await Timer(cycles * PERIOD_NS, "ns")
        raise AssertionError(f"no end after {cycles:,} cycles")

    async def reset(self, cycles: int = 4) -> None:
        """Holds the reset for some cycles and releases it after a clock edge. May be repeated."""
        self.dut.rst_ni.value = 0
        await ClockCycles(self.clock, cycles)
        self.dut.rst_ni.value = 1
        self._start_ns = get_sim_time("ns")

    @property
    def cycles(self) -> int:
        """Clock cycles since the last reset."""
        return round((get_sim_time("ns") - self._start_ns) / PERIOD_NS)

    async def until(self, condition: Callable[[], bool], what: str, limit: int = 100_000, step: int = 8) -> None:
        """Waits for a condition on Python's side, looking every `step` cycles.

        Fails after `limit` cycles, naming `what` it waited for. For a signal, await its edge.
        """
        last = self.cycles + limit
        while not condition():
            assert self.cycles < last, f"waited {limit} cycles in vain for {what}"
            await ClockCycles(self.clock, step)

    async def finish(
        self,
        *scoreboards: Scoreboard,
        limit: int = 100_000,
        extra_cycles: int = 16,
        **metrics: object,
    ) -> None:
        """Ends the test: waits until all expectations are met, then some cycles for surplus output.

        Writes the summary with the scoreboards' counts and `figures`, and fails on any difference,
        on missing or surplus items, and if a scoreboard compared nothing.
        """
        try:
            await self.until(lambda: all(scoreboard.done for scoreboard in scoreboards), "the outputs", limit)
        except AssertionError as timeout:
            # The scoreboards below say what is missing.
            self.dut._log.error("%s", timeout)
        cycles = self.cycles
        await ClockCycles(self.clock, extra_cycles)
        summary.write(
            cycles,
            sum(scoreboard.comparisons for scoreboard in scoreboards),
            sum(scoreboard.mismatches for scoreboard in scoreboards),
            **metrics,
        )
        for scoreboard in scoreboards:
            scoreboard.finish()

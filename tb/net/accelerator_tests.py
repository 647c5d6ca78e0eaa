# SPDX-License-Identifier: Apache-2.0
"""The whole accelerator in its pyuvm environment: random networks, errors, resets."""

import cocotb
from pyuvm import ConfigDB, uvm_root, uvm_test

from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.net.bench import DRAM_BYTES
from tb.net.environment import AcceleratorEnvironment
from tb.net.faults import FAULTS, draw_fault
from tb.net.programs import Network, Program, draw_base, draw_networks, move, place
from tb.net.sequences import FaultSequence, Pace, ProgramSequence, ResetSequence, RunSequence, draw_pace


class AcceleratorTest(uvm_test):
    """Builds the environment; a test adds `scenario`, which runs programs."""

    def build_phase(self) -> None:
        self.tb = Testbench(cocotb.top)
        self.rng, self.log = self.tb.rng, cocotb.top._log
        ConfigDB().set(None, "*", "tb", self.tb)
        ConfigDB().set(None, "*", "dram_bytes", DRAM_BYTES)
        self.env = AcceleratorEnvironment("env", self)
        self.programs = 0
        # From a generator of its own: benches of one seed run the same networks.
        self.networks = draw_networks(cocotb.RANDOM_SEED, self.tb.arguments["cycles_each"], self.tb.config)

    async def run_phase(self) -> None:
        self.raise_objection()
        await self.tb.reset()
        await self.env.dram.driver.fill()
        await self.scenario()
        passes = self.env.pass_scoreboard.total
        await self.tb.finish(*self.env.scoreboards, programs=self.programs, passes=passes)
        self.drop_objection()

    def pace(self) -> Pace:
        return draw_pace(self.rng, self.tb.arguments.get("slow", False))

    def place(self, network: Network) -> Program:
        base = draw_base(self.rng, network, DRAM_BYTES)
        return place(network, base, move(network.commands, base))

    async def run_sequence(self, sequence: ProgramSequence) -> None:
        """Runs a program; ends the test at the first one that leaves a difference."""
        self.programs += 1
        self.log.info("%s; %s", sequence.program.about, sequence.pace)
        await sequence.start(None)
        for scoreboard in self.env.scoreboards:
            assert scoreboard.first_difference is None, scoreboard.first_difference

    async def good(self, network: Network, program: Program, pace: Pace) -> int:
        """Runs a program to its end; returns its cycles."""
        run = RunSequence(self.env, network, program, pace)
        await self.run_sequence(run)
        return run.cycles


class NetworksTest(AcceleratorTest):
    """Networks one after the other, without a reset; at times the same one again, reset on the way."""

    async def scenario(self) -> None:
        for _ in range(scaled(self.tb.arguments["networks"])):
            network = next(self.networks)
            program, pace = self.place(network), self.pace()
            cycles = await self.good(network, program, pace)
            if self.rng.random() < 0.5:
                first = int(self.rng.choice([1, cycles * 9 // 10]))  # the end is when most is stored
                at = int(self.rng.integers(first, cycles + 20))
                await self.run_sequence(ResetSequence(self.env, program, pace, at))
                await self.good(network, self.place(network), self.pace())


class FaultsTest(AcceleratorTest):
    """Every kind of fault, each followed by a reset and the same network without the fault."""

    async def scenario(self) -> None:
        for plant, code in [FAULTS[n] for n in self.rng.permutation(len(FAULTS))]:
            for _ in range(scaled(self.tb.arguments["rounds"])):
                network, pace = next(self.networks), self.pace()
                faulty = draw_fault(self.rng, network, DRAM_BYTES, plant, code)
                await self.run_sequence(FaultSequence(self.env, faulty, pace))
                await self.good(network, self.place(network), self.pace())


@cocotb.test()
async def runs_networks(_dut) -> None:
    """Random networks: each pass, the counters, all of the memory."""
    await uvm_root().run_test(NetworksTest)


@cocotb.test()
async def recovers(_dut) -> None:
    """Programs that fail: code and address, what they leave behind, and that the next one runs."""
    await uvm_root().run_test(FaultsTest)

# SPDX-License-Identifier: Apache-2.0
"""The PE array against the golden model: every beat of sums that leaves, and the layer they make."""

import cocotb
import numpy as np
from pyuvm import ConfigDB, uvm_root, uvm_test

from eyrie.testing import layers
from eyrie.testing.array_layers import draw
from eyrie.testing.beats import PassBeats, behind_any_glb, pass_beats
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.pe_array.environment import ArrayEnvironment, PassesSequence

BEATS_LIMIT = 200_000  # cycles: five times what the longest bench takes


class LayersTest(uvm_test):
    """Runs the bench's layers, passes overlapping."""

    def build_phase(self) -> None:
        self.tb = Testbench(cocotb.top)
        self.accelerator = behind_any_glb(self.tb.config)
        ConfigDB().set(None, "*", "tb", self.tb)
        ConfigDB().set(None, "*", "accelerator", self.accelerator)
        self.env = ArrayEnvironment("env", self)
        self.layers_scoreboard = Scoreboard("layers")

    def plan(self) -> list[tuple[str, layers.Layer, list[PassBeats]]]:
        plan = []
        for n, options in enumerate(self.tb.arguments["layers"]):
            about, layer = draw(self.tb.rng, options, self.accelerator)
            about = f"layer {n} ({about})"
            self.tb.dut._log.info(about)
            plan.append((about, layer, [pass_beats(self.accelerator, case, self.tb.rng) for case, *_ in layer.parts]))
        return plan

    async def run_phase(self) -> None:
        self.raise_objection()
        plan = self.plan()
        await self.tb.reset()
        passes = []
        for about, _, beats in plan:
            for n, part in enumerate(beats):
                self.env.sums.expect(f"{about}, pass {n}", part)
                passes.append(part)
        await PassesSequence(self.env, passes, self.tb.rng).start(None)
        scoreboard = self.env.sums.scoreboard
        await self.tb.until(lambda: scoreboard.done, "the sums", BEATS_LIMIT)
        self.check_layers(plan)
        macs = sum(part.macs for part in passes)
        self.layers_scoreboard.compare(macs, int(self.tb.dut.macs_o.value), "multiplications")
        self.layers_scoreboard.compare(0, int(self.tb.dut.overrun_o.value), "overrun words")
        await self.tb.finish(scoreboard, self.layers_scoreboard, passes=len(passes), macs=macs)
        self.drop_objection()

    def check_layers(self, plan: list[tuple[str, layers.Layer, list[PassBeats]]]) -> None:
        """Puts the sums together and compares them with the operators."""
        got, start = np.array(self.env.sums.got), 0
        for about, layer, beats in plan:
            expected = layer.ofmap.transpose(2, 0, 1) if layer.sums is None else layer.sums
            gathered = np.zeros_like(expected)
            for (case, filters, rows), part in zip(layer.parts, beats):
                count = part.sums.shape[0] * part.sums.shape[1]
                sums = got[start : start + count].reshape(part.sums.shape)
                gathered[filters, rows] = case.gather(sums) if layer.sums is not None else unpack_words(part, sums)
                start += count
            self.layers_scoreboard.compare(expected, gathered, about)


def unpack_words(part: PassBeats, sums: np.ndarray) -> np.ndarray:
    """Depthwise words that left in place of sums -> int8 [C, E, F]."""
    words = part.case.gather(sums)[::4]
    channels = np.ascontiguousarray(words).view(np.int8).reshape(*words.shape, 4).transpose(0, 3, 1, 2)
    return channels.reshape(-1, *words.shape[1:])[: part.case.shape[0]]


@cocotb.test()
async def runs_layers(_dut) -> None:
    """The bench's layers, each beat of sums and each layer compared."""
    await uvm_root().run_test(LayersTest)

# SPDX-License-Identifier: Apache-2.0
"""The pyuvm environment of the PE array: an agent per stream, the scoreboard, the sequence of passes."""

import cocotb
import numpy as np
from pyuvm import ConfigDB, uvm_env, uvm_sequence, uvm_subscriber

from eyrie.model.config import AcceleratorConfig
from eyrie.testing.beats import TWO, PassBeats
from tb.common.scoreboard import Scoreboard
from tb.pe_array.agents import (
    Agent,
    ConfigAgent,
    ConfigItem,
    DrainAgent,
    FilterAgent,
    IfmapAgent,
    OneItem,
    StreamItem,
    SumsMonitor,
)

STREAMS = ("ifmap", "filter", "depthwise", "drain")


class SumsScoreboard(uvm_subscriber):
    """Compares every beat of sums, in drain order, with the model, and keeps the sums of each pass."""

    def __init__(self, name: str, parent: uvm_env) -> None:
        super().__init__(name, parent)
        self.accelerator: AcceleratorConfig = ConfigDB().get(self, "", "accelerator")
        self.scoreboard = Scoreboard("sums")
        self.got: list[np.ndarray] = []
        self._used: list[int] = []  # columns of each expected sum

    def expect(self, about: str, beats: PassBeats) -> None:
        sums, used = beats.sums, beats.used
        firsts = np.flatnonzero(~beats.second).tolist()
        for tile, (values, notes) in enumerate(zip(sums[:, :, :used].tolist(), beats.notes.tolist())):
            for n, (first, note) in enumerate(zip(firsts, notes)):
                self.scoreboard.expect(
                    (values[first : first + 1 + (note >> TWO)], note), f"{about}, tile {tile}, beat {n}"
                )
        self._used += [used] * (sums.shape[0] * sums.shape[1])

    def write(self, beat: dict[str, int]) -> None:
        sums = np.frombuffer(beat["sums"].to_bytes(8 * self.accelerator.cols, "little"), np.int32)
        sums = sums.reshape(2, -1)[: 1 + (beat["note"] >> TWO)]
        used = self._used[len(self.got)] if len(self.got) < len(self._used) else self.accelerator.cols
        self.got.extend(sums)
        self.scoreboard.observe((sums[:, :used].tolist(), beat["note"]))


class ArrayEnvironment(uvm_env):
    """Agents by stream name, `config`, `monitor` and `sums`."""

    def build_phase(self) -> None:
        kinds = {"ifmap": IfmapAgent, "filter": FilterAgent, "depthwise": Agent, "drain": DrainAgent}
        self.streams: dict[str, Agent] = {name: kinds[name](name, self) for name in STREAMS}
        self.config = ConfigAgent("config", self)
        self.monitor = SumsMonitor("monitor", self)
        self.sums = SumsScoreboard("sums", self)

    def connect_phase(self) -> None:
        self.monitor.port.connect(self.sums.analysis_export)


class PassSequence(uvm_sequence):
    """Offers one pass and lets each stream take it as soon as it is done with the pass before."""

    def __init__(self, env: ArrayEnvironment, beats: PassBeats, idle: dict[str, float]) -> None:
        super().__init__("pass")
        self.env, self.beats, self.idle = env, beats, idle

    async def body(self) -> None:
        descriptor = self.beats.case.descriptor
        await OneItem(ConfigItem(descriptor, self.idle["config"])).start(self.env.config.sequencer)
        items = [StreamItem(getattr(self.beats, name), self.idle[name], descriptor) for name in STREAMS]
        for item, agent in zip(items, self.env.streams.values()):
            cocotb.start_soon(OneItem(item).start(agent.sequencer))
        await self.env.config.driver.taken()
        for item in items:
            await item.taken.wait()


class PassesSequence(uvm_sequence):
    """Passes one behind the other, each at a pace of its own."""

    def __init__(self, env: ArrayEnvironment, passes: list[PassBeats], rng: np.random.Generator) -> None:
        super().__init__("passes")
        self.env, self.passes, self.rng = env, passes, rng

    def paces(self) -> dict[str, float]:
        """Idle probabilities: at times nothing, at times one stream alone far behind the others."""
        names = (*STREAMS, "config")
        idle = dict.fromkeys(names, 0.0)
        kind = self.rng.integers(3)
        if kind == 1:
            idle |= {name: float(self.rng.random() * 0.6) for name in names}
        elif kind == 2:
            idle[str(self.rng.choice(names))] = float(0.5 + self.rng.random() * 0.4)
        return idle

    async def body(self) -> None:
        for beats in self.passes:
            self.env.monitor.sink.pace(float(self.rng.choice([0.0, 0.3, 0.7])))
            await PassSequence(self.env, beats, self.paces()).start(None)

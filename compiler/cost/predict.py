# SPDX-License-Identifier: Apache-2.0
"""What a compiled program costs: cycles, bytes at each level, energy.

Bytes are exact. Cycles come from a timeline of the accelerator's units (compiler/cost/timing), which follows channel
groups and words, not cycles; tb/net/cost_tests.py holds them to the RTL's. The memory is the simulated one, with the
latency of the configuration and a beat a cycle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np

from eyrie.compiler.cost import traffic
from eyrie.compiler.cost.counters import COUNTERS, counted
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.cost.shares import held_cycles
from eyrie.compiler.cost.timing.array import Array, PassTimes
from eyrie.compiler.cost.timing.banks import Banks
from eyrie.compiler.cost.timing.front import Front, TransferTimes
from eyrie.compiler.cost.timing.replay import structure, without_values
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.compiler.ir.program import Command, Config, Run
from eyrie.model import encoding as enc
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes
from eyrie.model.word import WORD_BITS

WORD_BYTES = WORD_BITS // 8  # of a command
DRAM_BYTES = 4 << 20  # of the simulated memory, the window of a run
MOST_TIMINGS = 64  # that are remembered


@dataclass(frozen=True)
class LayerCost:
    """A group of the network, and the cycles in which its passes hold the accelerator (shares.py)."""

    name: str
    cycles: int


@dataclass(frozen=True)
class Timing:
    """The times of a list of commands.

    cycles     of the whole run, the counter CYCLES
    counters   MACS and all counters of bytes but those of commands, by name
    passes     when each pass begins and ends
    transfers  when each load and store begins and ends
    """

    cycles: int
    counters: dict[str, int]
    passes: list[PassTimes]
    transfers: list[TransferTimes]


@dataclass(frozen=True)
class Prediction(Timing):
    """The cost of a run. counters: with those of commands; layers: in the order of the image's steps"""

    layers: list[LayerCost]

    @property
    def dram_bytes(self) -> int:
        return self.counters["DRAM_READ_BYTES"] + self.counters["DRAM_WRITE_BYTES"]

    @property
    def glb_bytes(self) -> int:
        return glb_read_bytes(self.counters) + glb_write_bytes(self.counters)

    def energy_uj(self, clock_hz: int, zero_skipped: int = 0) -> float:
        """zero_skipped: MACs with a zero operand, which depend on the data and cost nothing."""
        return energy_uj(self.counters | {"ZERO_SKIPPED": zero_skipped}, self.cycles, clock_hz)


def predict(image: Image, window: int = DRAM_BYTES) -> Prediction:
    """Cost of one run of an image whose DRAM window is 0 to `window` - 1 bytes."""
    config = image.config
    timing, commands = timed(config, image.commands), fetched_bytes(image, window)
    read = timing.counters["DRAM_READ_BYTES"] + commands
    counters = timing.counters | {"COMMAND_BYTES": commands, "DRAM_READ_BYTES": read}
    layers = layer_costs(image.steps, timing.passes, config)
    return Prediction(timing.cycles, counters, timing.passes, timing.transfers, layers)


def fetched_bytes(image: Image, window: int = DRAM_BYTES) -> int:
    """DRAM bytes that the command list costs."""
    return traffic.command_bytes(image.program.bytes // WORD_BYTES, window - image.program.address)


def timed(config: AcceleratorConfig, commands: Sequence[Command]) -> Timing:
    """Return the times of a list of commands. They do not depend on values, so that equal layers are timed once."""
    return _timed(config, tuple(map(without_values, commands)))


@lru_cache(MOST_TIMINGS)
def _timed(config: AcceleratorConfig, commands: tuple[Command, ...]) -> Timing:
    banks = Banks(config)
    front = Front(commands, range(enc.ROW_IDS_INDEX, enc.STREAMS_INDEX), banks, config)
    array, descriptor = Array(config, front, banks), Descriptor()
    counters = dict.fromkeys(COUNTERS, 0)
    passes: list[PassTimes] = []
    for command, counts in zip(commands, counted(config, commands)):
        for name, count in counts.items():
            counters[name] += count
        if isinstance(command, Config):
            descriptor.words[command.index : command.index + len(command.words)] = command.words
        elif isinstance(command, Run):
            passes.append(array.run(front.passes[len(passes)], descriptor, structure(descriptor)))
    cycles = front.finish()
    return Timing(cycles, counters, passes, front.transfer_times())


def layer_costs(steps: Sequence[ImageStep], passes: list[PassTimes], config: AcceleratorConfig) -> list[LayerCost]:
    """Return the cycles of each layer.

    A pass has a PE until its last multiplication. A PE that takes no part goes on to the next pass as soon as that is
    offered, or, if it takes no part there either, as soon as another PE does. Ends are rounded, not spans: their sum
    stays the whole.
    """
    last = passes[-1].done - 1  # the counters are noted a cycle before the pass counts
    ends, spans = np.zeros((config.sets, config.cols), int), []
    for times, behind in pairwise(passes):
        before, after = _taking_part(times, config), _taking_part(behind, config)
        gone_on = np.where(after & ~before, min(behind.offered, times.worked), times.worked)
        gone_on[~after & ~before] = np.min(gone_on, where=after, initial=times.worked)
        next_ends = np.maximum(ends, gone_on)
        spans.append(int(np.sum(next_ends - ends)))
        ends = next_ends
    spans.append(int(np.sum(last - ends)))
    held = held_cycles(
        [span / ends.size for span in spans],
        [times.done - 1 for times in passes],
        [times.columns == 0 for times in passes],
    )
    done = [round(total) for total in accumulate(sum(held[n] for n in step.passes) for step in steps)]
    return [LayerCost(step.name, end - begin) for step, begin, end in zip(steps, [0, *done], done)]


def _taking_part(times: PassTimes, config: AcceleratorConfig) -> np.ndarray:
    """Bool [sets, columns]."""
    sets, columns = np.indices((config.sets, config.cols))
    return (sets < times.sets) & (columns < times.columns)

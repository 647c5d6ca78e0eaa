"""What a compiled program costs: cycles, bytes at each level, energy.

Bytes are exact. Cycles come from a timeline of the machine's units (compiler/timing), which follows channel
groups and words, not cycles; tb/net/cost_tests.py holds them to the RTL's. The memory is the simulated one,
with a latency of 30 cycles and a word a cycle.
"""

from dataclasses import dataclass

import numpy as np

from compiler import traffic
from compiler.image import Image
from compiler.prices import energy_uj
from compiler.program import Command, Config, Run, Transfer, disassemble
from compiler.timing.array import Array, PassTimes
from compiler.timing.banks import Banks
from compiler.timing.front import Front
from compiler.timing.shape import pass_shape
from model import encoding as enc
from model.config import GLB_WORD_BYTES, MachineConfig
from model.descriptor import Descriptor
from model.encoding import glb_read_bytes, glb_write_bytes

DRAM_BYTES = 4 << 20  # of the simulated memory, the window of a run


@dataclass(frozen=True)
class LayerCost:
    """A group of the network and its cycles: up to the last multiplication of its last pass; for the last
    group, up to the end of its last pass."""

    name: str
    cycles: int


@dataclass(frozen=True)
class Prediction:
    """What a run will cost.

    cycles    of the whole run, the counter CYCLES
    counters  MACS and all counters of bytes, by name
    layers    in the order of the image's steps
    passes    when each pass begins and ends
    """

    cycles: int
    counters: dict[str, int]
    layers: list[LayerCost]
    passes: list[PassTimes]

    @property
    def dram_bytes(self) -> int:
        return self.counters["DRAM_READ_BYTES"] + self.counters["DRAM_WRITE_BYTES"]

    @property
    def glb_bytes(self) -> int:
        return glb_read_bytes(self.counters) + glb_write_bytes(self.counters)

    def energy_uj(self, clock_hz: int, gated: int = 0) -> float:
        """gated: multiplications with a zero operand, which depend on the data and cost nothing."""
        return energy_uj(self.counters["MACS"] - gated, self.glb_bytes, self.dram_bytes, self.cycles, clock_hz)


def predict(image: Image, window: int = DRAM_BYTES) -> Prediction:
    """Cost of one run of an image whose DRAM window is 0 to `window` - 1 bytes.

    Raises ValueError for a machine with ports of more than 64 bits, which the timeline does not know.
    """
    machine = image.machine
    if machine.bus_words > 1 or machine.filter_lanes > 1:
        raise ValueError(f"bus_words = {machine.bus_words}, filter_lanes = {machine.filter_lanes}: "
                         "the cost model knows ports of one word only")
    words = image.dram[image.program :][: image.map["program"]["bytes"]].view(np.uint64)
    counters, passes, cycles = _run(machine, disassemble(words))
    commands = traffic.command_bytes(len(words), window - image.program)
    counters["COMMAND_BYTES"] = commands
    counters["DRAM_READ_BYTES"] += commands
    return Prediction(cycles, counters, _layers(image.map["steps"], passes), passes)


def _run(machine: MachineConfig, commands: list[Command]) -> tuple[dict[str, int], list[PassTimes], int]:
    """Counters without commands, times of the passes, cycles."""
    banks = Banks(machine)
    front = Front(commands, range(enc.ROW_IDS_INDEX, enc.STREAMS_INDEX), banks)
    array, descriptor = Array(machine, front, banks), Descriptor()
    counters = dict.fromkeys((*traffic.COUNTERS, "MACS"), 0)
    passes: list[PassTimes] = []
    for command in commands:
        if isinstance(command, Config):
            descriptor.words[command.index : command.index + len(command.words)] = command.words
        elif isinstance(command, Run):
            shape = pass_shape(machine, descriptor)
            counters["MACS"] += shape.macs(machine)
            for name, count in traffic.pass_bytes(descriptor).items():
                counters[name] += count
            passes.append(array.run(front.passes[len(passes)], shape))
        elif isinstance(command, Transfer):
            moved = command.words * GLB_WORD_BYTES
            moved *= command.block.rows * command.block.planes if command.block else 1
            counters["DRAM_READ_BYTES" if command.load else "DRAM_WRITE_BYTES"] += moved
            counters["GLB_LOAD_BYTES" if command.load else "GLB_STORE_BYTES"] += moved
    return counters, passes, front.finish()


def _layers(steps: list[dict], passes: list[PassTimes]) -> list[LayerCost]:
    ends = [times.worked for times in passes]
    ends[-1] = passes[-1].done - 1  # the counters are noted a cycle before the pass counts
    spans = [end - begin for begin, end in zip([0, *ends], ends)]
    return [LayerCost(step["name"], sum(spans[n] for n in step["passes"])) for step in steps]

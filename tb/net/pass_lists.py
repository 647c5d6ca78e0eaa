# SPDX-License-Identifier: Apache-2.0
"""Lists of independent passes, each with its tensors behind those of the one before in the GLB."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.program import Command, End, Run, Transfer, assemble, runs_of_words
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Stream
from eyrie.testing import pass_layers
from eyrie.testing.layers import Layer

ATTEMPTS = 200
LARGEST = 4  # a pass takes this part of the GLB at most


@dataclass(frozen=True)
class Drawn:
    """A pass whose case lies from GLB word `base` on."""

    layer: Layer
    base: int
    about: str

    def result(self, glb: np.ndarray) -> np.ndarray:
        """What it has written, int8 [rows, cols, C], from the GLB afterwards (uint64)."""
        place = self.layer.parts[0][0].ofmap
        words = glb[self.base + place.address :][: place.words].reshape(place.rows, place.groups, place.pitch)
        return place.unpack(words, self.layer.ofmap.shape[2])


@dataclass(frozen=True)
class PassList:
    """Loads the GLB, runs passes that wait for nothing else, stores the GLB.

    contents  of the DRAM from address 0 on: the GLB, room for it, the commands
    """

    passes: list[Drawn]
    commands: list[Command]
    contents: np.ndarray
    start: int
    result_address: int
    words: int

    def glb(self, memory: np.ndarray) -> np.ndarray:
        """The GLB afterwards, uint64, from the DRAM (uint8)."""
        return memory[self.result_address :][: self.words * GLB_WORD_BYTES].view(np.uint64)


def moved(descriptor: Descriptor, base: int) -> Descriptor:
    """A descriptor of a pass whose tensors lie so many words further up."""
    result = Descriptor(descriptor.words)
    for stream in Stream:
        if descriptor.uses(stream):
            program = descriptor.stream(stream)
            address = dict(program.address)
            address["row_address"] += base
            if address["ring_size"]:
                address["ring_end"] += base
            result.set_stream(stream, type(program)(address, program.range, program.options, program.levels))
    return result


def draw_list(rng: np.random.Generator, config: AcceleratorConfig, kinds: Sequence[str], count: int) -> PassList:
    """Passes with an ofmap, of kinds in turn, as many as asked for or as the GLB holds."""
    passes, base = [], 0
    glb = np.zeros(config.glb_words, np.uint64)
    for _attempt in range(ATTEMPTS):
        layer, about = pass_layers.draw(rng, kinds[len(passes) % len(kinds)], config)
        case = layer.parts[0][0]
        size = len(case.glb) + len(case.glb) % 2
        if len(layer.parts) > 1 or layer.ofmap is None or size > config.glb_words // LARGEST:
            continue
        if base + size > config.glb_words or len(passes) == count:
            break
        glb[base : base + len(case.glb)] = case.glb
        passes.append(Drawn(layer, base, about))
        base += size
    commands: list[Command] = [Transfer(True, 0, 0, base)]
    shadow = Descriptor()
    for drawn in passes:
        descriptor = moved(drawn.layer.parts[0][0].descriptor, drawn.base)
        if rng.random() < 0.5:
            for index in descriptor.ignored:
                descriptor.words[index] = int.from_bytes(rng.bytes(8))
        commands += [*runs_of_words(descriptor.changes(shadow)), Run(1, 0)]
        shadow = descriptor
    size = base * GLB_WORD_BYTES
    commands += [Transfer(False, size, 0, base, wait_passes=len(passes)), End()]
    contents = np.concatenate([glb[:base], np.zeros(base, np.uint64), assemble(commands)]).view(np.uint8)
    return PassList(passes, commands, contents, 2 * size, size, base)

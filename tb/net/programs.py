# SPDX-License-Identifier: Apache-2.0
"""Random small networks, compiled, and their programs anywhere in the DRAM."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from eyrie.compiler.cost.predict import predict
from eyrie.compiler.cost.roofline import roofline_cycles
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Command, Transfer, assemble, disassemble
from eyrie.compiler.network import compile_network
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, AcceleratorConfig
from tests.compiler.test_networks import draw_images, late_network
from tests.compiler.test_networks import network as random_model

SEARCH_ITERATIONS = 8  # of the compiler's search for places
FIRST = 20  # networks that are drawn to see whether any runs on an accelerator


@dataclass(frozen=True)
class Network:
    """A compiled network and an input: int8 [H, W, C], or [N, H, W, C] where it takes N images."""

    about: str
    graph: Graph
    image: Image
    values: np.ndarray

    @property
    def commands(self) -> list[Command]:
        """Its command list, for an image at address 0."""
        place = self.image.program
        return disassemble(self.image.dram[place.address :][: place.bytes].view(np.uint64))

    @property
    def golden(self) -> np.ndarray:
        """Its output as the operators compute it: int8 [H, W, C], or [N, H, W, C]."""
        several = self.values.ndim == 4
        outputs = self.graph.run_images(self.values if several else self.values[None])
        return outputs if several else outputs[0]


def draw_networks(seed: int, cycles: int, config: AcceleratorConfig = DEFAULT) -> Iterator[Network]:
    """Random networks that the compiler takes for an accelerator, without end: each of at most so many predicted
    cycles, in proportion more where an accelerator has fewer multipliers than the default one."""
    most = cycles * max(1, DEFAULT.total_multipliers / config.total_multipliers)
    number = -1
    while True:
        number += 1
        rng = np.random.default_rng([seed, number])
        model, shape = (late_network if rng.random() < 0.3 else random_model)(rng)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "net.tflite"
            path.write_bytes(model)
            try:
                stages = compile_network(path, config, search_iterations=SEARCH_ITERATIONS, images=draw_images(rng))
            except ValueError as error:
                smaller = config != DEFAULT  # which rejects more
                assert smaller or isinstance(error, DoesNotFit) or "an average needs" in str(error), error
                continue
        image = stages.image
        if roofline_cycles(image) <= most and predict(image).cycles <= most:  # a prediction of a large one takes long
            several = (image.images, *shape) if image.images > 1 else shape
            values = rng.integers(-128, 128, several).astype(np.int8)
            layers = ", ".join(step.name for step in image.steps)
            yield Network(f"draw {number}: {several}, {layers}", stages.graph, image, values)


def why_none(config: AcceleratorConfig) -> str | None:
    """Why the first networks that are drawn do not compile for an accelerator; None: one of them does."""
    reason = ""
    for number in range(FIRST):
        rng = np.random.default_rng([0, number])
        with TemporaryDirectory() as folder:
            path = Path(folder) / "net.tflite"
            path.write_bytes(random_model(rng)[0])
            try:
                compile_network(path, config, search_iterations=SEARCH_ITERATIONS)
            except ValueError as error:
                reason = str(error)
            else:
                return None
    return f"none of {FIRST} random networks compiles, the last one because {reason}"


@dataclass(frozen=True)
class Program:
    """A command list and the memory that it needs.

    base      byte address of `contents` (uint8)
    start     byte address of the first command
    window    first byte that the accelerator may touch, first byte after it
    ends      bool, as `contents`: words between the rows of outputs, which depend on old words of the GLB
    """

    about: str
    base: int
    contents: np.ndarray
    start: int
    window: tuple[int, int]
    ends: np.ndarray


def move(commands: list[Command], distance: int) -> list[Command]:
    """The list for tensors that lie so many bytes further up."""
    return [
        replace(command, dram_address=command.dram_address + distance) if isinstance(command, Transfer) else command
        for command in commands
    ]


def place(network: Network, base: int, commands: list[Command], about: str = "") -> Program:
    """A program of commands (for an image at `base`) that follow a network's tensors, with the smallest
    window."""
    image, values = network.image, network.values
    [inputs] = image.runs(image.named(values if values.ndim == 4 else values[None]))
    tensors = image.with_inputs(inputs)[: image.program.address]
    contents = np.concatenate([tensors, assemble(commands).view(np.uint8)])
    window = (base, base + len(contents))
    ends = np.zeros(len(contents), bool)
    for output in image.outputs.values():
        layout, size = output.layout, image.images * output.layout.words * GLB_WORD_BYTES
        rows = ends[output.address :][:size].reshape(-1, layout.pitch, GLB_WORD_BYTES)
        rows[:, layout.used_words :] = True
    return Program(about or network.about, base, contents, base + len(tensors), window, ends)


def draw_base(rng: np.random.Generator, network: Network, dram_bytes: int) -> int:
    """A place for a network: not at either end of the memory, with room for a list twice as long."""
    image = network.image
    last = dram_bytes - (image.program.address + 2 * (len(image.dram) - image.program.address))
    return GLB_WORD_BYTES * int(rng.integers(1, last // GLB_WORD_BYTES))

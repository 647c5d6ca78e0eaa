# SPDX-License-Identifier: Apache-2.0
"""Small random networks for the tests of the driver: maps of every layout that the compiler makes."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network
from eyrie.training.tflite_writer import TfliteBuilder
from tb.net.programs import SEARCH_ITERATIONS, Network
from tb.net.random_branches import draw_inputs, draw_network, expected_outputs
from tests.commands.small_nets import INPUT, bias, scales, separable, weights
from tests.compiler.test_networks import late_network


@dataclass(frozen=True)
class Driven:
    """A compiled network, with inputs as `Image.with_inputs` takes them."""

    graph: Graph
    image: Image
    inputs: dict[str, np.ndarray]

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """As the operators compute them, as of `Image.outputs`."""
        return expected_outputs(self.graph, self.inputs)

    def with_inputs(self, rng: np.random.Generator) -> "Driven":
        """With other inputs."""
        return Driven(self.graph, self.image, draw_inputs(self.image, rng))

    @property
    def network(self) -> Network:
        """Of one with one input, as the benches have it."""
        return Network("a small network", self.graph, self.image, *self.inputs.values())


def _compiled(rng: np.random.Generator, model: bytes, images: int = 1) -> Driven:
    """Raises ValueError where it does not compile."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.tflite"
        path.write_bytes(model)
        stages = compile_network(path, search_iterations=SEARCH_ITERATIONS, images=images)
    return Driven(stages.graph, stages.image, draw_inputs(stages.image, rng))


def packed(rng: np.random.Generator, images: int = 1) -> Driven:
    """Two pixels of an input's map share a word."""
    found = _compiled(rng, separable(rng, int(rng.choice([6, 8, 10]))), images)
    assert found.image.input_map.layout.packed
    return found


def patched(rng: np.random.Generator, images: int = 1, table: bool = False) -> Driven:
    """An input that lies as patches, some of which are outside of it; table: of the values of a function."""
    net = TfliteBuilder("patched")
    x = net.input("image", (1, int(rng.integers(14, 30)), int(rng.integers(14, 30)), int(rng.integers(1, 4))), INPUT)
    if table:
        x = net.function("HARD_SWISH", "function", x, INPUT._replace(zero_point=31))
    stride = int(rng.integers(1, 4))
    x = net.conv("conv", x, weights(rng, 24, 7, 5, x.shape[3]), scales(rng, 24), bias(rng, 24), INPUT, stride)
    found = _compiled(rng, net.build([x]), images)
    assert found.image.input_map.patches and bool(found.image.input_map.table) == table
    return found


def wide(rng: np.random.Generator) -> Driven:
    """Rows longer than what the driver moves at a time, with a last group that is not full, in and out."""
    net = TfliteBuilder("wide")
    x = net.input("image", (1, 3, int(rng.integers(33, 50)), int(rng.integers(9, 16))), INPUT)
    count = int(rng.integers(9, 16))
    x = net.conv("conv", x, weights(rng, count, 3, 3, x.shape[3]), scales(rng, count), bias(rng, count), INPUT)
    return _compiled(rng, net.build([x]))


def grouped(rng: np.random.Generator) -> Driven:
    """Many groups of 8 channels."""
    while True:
        with suppress(ValueError):
            return _compiled(rng, late_network(rng)[0])


def several_ends(rng: np.random.Generator) -> Driven:
    """Several inputs and outputs."""
    while True:
        with suppress(ValueError):
            found = _compiled(rng, draw_network(rng, side=8))
            if len(found.image.inputs) > 1 < len(found.image.outputs):
                return found


def every_layout(rng: np.random.Generator) -> list[Driven]:
    """The first is of a single image, input and output."""
    return [
        packed(rng),
        packed(rng, int(rng.integers(2, 5))),
        patched(rng),
        patched(rng, 2),
        patched(rng, table=True),
        wide(rng),
        grouped(rng),
        several_ends(rng),
    ]

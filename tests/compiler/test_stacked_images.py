# SPDX-License-Identifier: Apache-2.0
"""Operators on the pixels of several images run on the accelerator: sequences and windows of transformers."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.passes.simplify import simplified
from eyrie.model.interpreters import run_micro
from eyrie.runtime.back_ends.functional import Functional
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import Builder

# Of the images, all axes but the last.
SHAPES = ((48,), (197,), (6, 16), (4, 49), (5, 20), (4, 8), (3, 2, 8), (2, 5, 7))
CONSTANTS = ("none", "value", "channels", "rows")


def sequences(rng: np.random.Generator, outer: tuple[int, ...], constant: str) -> bytes:
    """Two layers with an activation between them, an addition of the input, and one of a constant."""
    net, channels, hidden = Builder(), int(rng.choice([8, 20, 48])), int(rng.choice([16, 36]))
    pixels = int(np.prod(outer))

    def tensor(*shape: int) -> int:
        return net.tensor(shape, scale=0.05, zero_point=int(rng.integers(-20, 20)))

    def reshaped(x: int, *shape: int) -> int:
        quantization = net.tensors[x].quantization
        made = net.tensor(shape, scale=quantization.scale, zero_point=quantization.zeroPoint)
        sizes = net.tensor((len(shape),), "int32", data=np.array(shape, np.int32))
        net.operator("RESHAPE", [x, sizes], [made], newShape=list(shape))
        return made

    def layer(x: int, outputs: int, inputs: int) -> int:
        filters = net.tensor((outputs, inputs), scale=0.01, data=rng.integers(-127, 128, (outputs, inputs)))
        keeps = len(outer) == 1 or bool(rng.random() < 0.7)
        made = tensor(*(outer if keeps else (pixels,)), outputs)
        source = x if keeps or rng.random() < 0.5 else reshaped(x, 1, pixels, inputs)
        net.operator("FULLY_CONNECTED", [source, filters], [made], keepNumDims=keeps and len(outer) > 1)
        return made if keeps else reshaped(made, *outer, outputs)

    image = tensor(1, pixels, channels)
    x = reshaped(image, *outer, channels)
    wide = layer(x, hidden, channels)
    active = tensor(*outer, hidden)
    net.operator("HARD_SWISH", [wide], [active])
    total = tensor(*outer, channels)
    net.operator("ADD", [x, layer(active, channels, hidden)], [total])
    if constant != "none":
        size = {"value": (1,), "channels": (channels,), "rows": (*outer[-1:], 1)}[constant]
        added = net.tensor(size, scale=0.05, data=rng.integers(-128, 128, size))
        summed = tensor(*outer, channels)
        net.operator("ADD", [total, added], [summed])
        total = summed
    return net.pack([image], [reshaped(total, 1, pixels, channels)])


@pytest.mark.parametrize("number", range(scaled(40, least=8)))
def test_sequences(number: int, seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng([seed, number]), tmp_path / "net.tflite"
    constant = CONSTANTS[number % len(CONSTANTS)]
    model = sequences(rng, SHAPES[int(rng.integers(len(SHAPES)))], constant)
    path.write_bytes(model)
    graph = tflite.from_bytes(model)
    values = rng.integers(-128, 128, graph.input.shape).astype(np.int8)
    [wanted] = run_micro(model, values)
    np.testing.assert_array_equal(simplified(graph).run(values)[graph.output.name], wanted)
    compiled = compile_parts(path, search_iterations=8)
    assert compiled.partition.host_share < (0.05 if constant == "rows" else 1e-9)
    [made] = Functional().run(compiled.network, [values[None]]).outputs
    np.testing.assert_array_equal(made[0], wanted)

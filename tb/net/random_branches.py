# SPDX-License-Identifier: Apache-2.0
"""Random networks with branches and joins, of layers that keep or halve the map and of operators of two maps."""

import numpy as np

from eyrie.compiler.ir.graph import Graph, map_shape
from eyrie.compiler.ir.image import Image
from eyrie.training.tflite_writer import Tensor
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights

FILTERS = (3, 8, 10, 16, 24, 40)
MOST_SIDE = 20


def draw_network(rng: np.random.Generator, side: int = MOST_SIDE, operators: int = 10) -> bytes:
    """A .tflite file: each operator takes maps that are there, of which those that nothing has taken yet are
    preferred; what nothing has taken at the end are outputs. side: most rows and columns of an input."""
    net = TfliteBuilder("graph")
    maps: list[Tensor] = []
    loose: list[Tensor] = []

    def add(tensor: Tensor, *taken: Tensor) -> None:
        loose[:] = [each for each in loose if each not in taken] + [tensor]
        maps.append(tensor)

    for n in range(int(rng.choice([1, 1, 2, 3]))):
        shape = *rng.integers(1, side + 1, 2).tolist(), int(rng.choice([1, 3, 8, 16]))
        add(net.input(f"input{n}", (1, *(shape if n == 0 or rng.random() < 0.5 else maps[0].shape[1:])), INPUT))
    inputs = tuple(maps)
    for n in range(int(rng.integers(2, operators))):
        x = _one(rng, loose if rng.random() < 0.6 else maps)
        alike = [other for other in maps if other.shape == x.shape]
        if rng.random() < 0.4 and len(maps) > len(inputs):
            other = _one(rng, alike)
            add(_join(rng, net, f"join{n}", x, other), x, other)
        else:
            add(_layer(rng, net, f"layer{n}", x, x.shape[3] if rng.random() < 0.5 else int(rng.choice(FILTERS))), x)
    ends = [tensor for tensor in maps if tensor not in inputs and (tensor in loose or rng.random() < 0.1)]
    return net.build(ends)


def _one(rng: np.random.Generator, among: list[Tensor]) -> Tensor:
    return among[rng.integers(len(among))]


def _out(rng: np.random.Generator) -> Quant:
    return Quant(0.05, int(rng.choice([-128, rng.integers(-128, 128)])))


def _layer(rng: np.random.Generator, net: TfliteBuilder, name: str, x: Tensor, filters: int) -> Tensor:
    """A convolution of any kind."""
    channels, size, stride = x.shape[3], int(rng.integers(1, 4)), int(rng.integers(1, 3))
    kind, relu = rng.choice(["convolution", "pointwise", "depthwise", "separable"]), int(rng.choice([0, 1, 6]))
    if kind in ("depthwise", "separable"):
        constants = weights(rng, 1, size, size, channels), scales(rng, channels), bias(rng, channels)
        x = net.depthwise(f"{name}/depthwise", x, *constants, _out(rng), stride=stride, relu=relu)
        if kind == "depthwise":
            return x
        size = stride = 1
    if kind == "pointwise":
        size = stride = 1
    constants = weights(rng, filters, size, size, channels), scales(rng, filters), bias(rng, filters)
    return net.conv(name, x, *constants, _out(rng), stride=stride, relu=relu)


def _join(rng: np.random.Generator, net: TfliteBuilder, name: str, x: Tensor, other: Tensor) -> Tensor:
    """ADD, SUB, SQUARED_DIFFERENCE or MUL; MAXIMUM and MINIMUM of maps of one scale."""
    names = ["ADD", "ADD", "SUB", "SQUARED_DIFFERENCE", "MUL"] + (
        ["MAXIMUM", "MINIMUM"] if x.quant == other.quant else []
    )
    kind = str(rng.choice(names))
    scale = float(rng.uniform(0.05, 0.2)) * (10 if kind == "SQUARED_DIFFERENCE" else 1)
    out = x.quant if kind in ("MAXIMUM", "MINIMUM") else Quant(scale, int(rng.integers(-128, 128)))
    relu = kind != "SQUARED_DIFFERENCE" and int(rng.choice([0, 0, 1]))
    return net.binary(kind, name, x, other, out, relu=relu)


def draw_inputs(image: Image, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Of a run, as Image.with_inputs takes them."""
    images = (image.images,) if image.images > 1 else ()
    return {
        name: rng.integers(-128, 128, (*images, *place.shape)).astype(np.int8) for name, place in image.inputs.items()
    }


def expected_outputs(graph: Graph, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the golden model gives, as Image.outputs has it; inputs that nothing reads are zeros."""
    batched = next(shape[:-3] for shape in (values.shape for values in inputs.values()))
    runs = []
    for n in range(batched[0] if batched else 1):
        values = [
            inputs[tensor.name].reshape(-1, *tensor.shape)[n]
            if tensor.name in inputs
            else np.zeros(tensor.shape, np.int8)
            for tensor in graph.inputs
        ]
        runs.append(graph.run(*values))
    return {
        tensor.name: np.stack([run[tensor.name] for run in runs]).reshape(*batched, *map_shape(tensor.shape))
        for tensor in graph.outputs
    }

# SPDX-License-Identifier: Apache-2.0
"""Averages of windows, which the vector unit sums, or the array as depthwise work if that takes less."""

from collections import Counter

import numpy as np

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.layer import Depthwise
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import average_of_window
from eyrie.compiler.parts import compile_graph
from eyrie.compiler.results import Imported
from eyrie.compiler.target.suit import suited
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.interpreters import RUN
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.reference import Reference
from eyrie.runtime.back_ends.functional import Functional
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import Builder

NETWORKS = scaled(80)
RELU, RELU6 = 1, 3  # fused activations of the schema
FORMS = {Depthwise: "array", Elementwise: "vector unit"}


def pool(rng: np.random.Generator, kind: str) -> tuple[bytes, np.ndarray]:
    """A random AVERAGE_POOL_2D or MEAN over a whole map, and its input: random values, or all the same."""
    net = Builder()
    least = 0 if kind == "uint8" else -128
    zero_point = int(rng.choice([least, least + rng.integers(4, 252)]))
    kernel, stride = rng.integers(1, 10, 2), rng.integers(1, 4, 2)
    height, width = kernel + rng.integers(0, 24, 2)
    channels = int(rng.integers(1, 40))
    source = net.tensor((1, height, width, channels), kind, 0.1, zero_point)
    if rng.random() < 0.6:
        made = net.tensor((1, *((height, width) - kernel) // stride + 1, channels), kind, 0.1, zero_point)
        window = {"strideH": stride[0], "strideW": stride[1], "filterHeight": kernel[0], "filterWidth": kernel[1]}
        window |= {"padding": 1, "fusedActivationFunction": int(rng.choice([0, RELU, RELU6]))}
        net.operator("AVERAGE_POOL_2D", [source], [made], **{name: int(value) for name, value in window.items()})
    else:
        made = net.tensor((1, 1, 1, channels), kind, float(rng.choice([0.1, 0.07, 0.2])), zero_point)
        net.operator("MEAN", [source, net.tensor((2,), "int32", data=[1, 2])], [made], keepDims=True)
    shape = (1, height, width, channels)
    values = rng.integers(0, 256, shape) if rng.random() < 0.8 else np.full(shape, rng.integers(0, 256))
    return net.pack([source], [made]), values.astype(np.uint8).view(kind)


def form_of(graph: Graph, values: np.ndarray, expected: np.ndarray) -> str:
    """Compare a network's output; return the unit that runs it."""
    compiled = compile_graph(Imported("net", graph=graph))
    [made] = Functional().run(compiled.network, [values[None]]).outputs
    np.testing.assert_array_equal(made.reshape(expected.shape), expected)
    [group] = [group for part in compiled.parts if part.stages for group in part.stages.groups]
    return FORMS.get(type(group), "host")


def test_averages(seed: int) -> None:
    """As LiteRT computes them."""
    seen, number = Counter[str](), 0
    while number < NETWORKS or seen["array"] < 3 or seen["vector unit"] < 3:
        assert number < 1000, seen
        rng = np.random.default_rng((seed, number))
        model, values = pool(rng, ("int8", "uint8")[number % 2])
        [expected] = RUN[Reference.LITERT](model, values)
        seen[form_of(tflite.from_bytes(model), values, expected)] += 1
        number += 1


def average(window: Window, shape: tuple[int, int, int]) -> Elementwise:
    scale = Quantization(0.1, 3)
    height, width = ((size - taps) // step + 1 for size, taps, step in zip(shape, window.kernel, window.stride))
    return Elementwise(
        name="average0",
        source=Map("x", shape, scale),
        output=Map("y", (height, width, shape[2]), scale),
        window=window,
        epilogue=(average_of_window(np.array([[window.taps]]), window.taps),),
    )


def test_the_unit_that_takes_less() -> None:
    """Small windows come in pairs of words. Loading taps and tables of many channels takes longer than a few windows. A
    single set makes no GLB words."""
    small, middle, large = Window((2, 2), (2, 2)), Window((3, 3), (2, 2)), (24, 24, 32)
    alone = AcceleratorConfig(rows=3)
    assert alone.sets == 1
    for window, shape, config, unit in (
        (small, large, DEFAULT, Elementwise),
        (middle, large, DEFAULT, Depthwise),
        (middle, large, alone, Elementwise),
        (middle, (3, 3, 256), DEFAULT, Elementwise),
        (Window((10, 10), (2, 2)), large, DEFAULT, Elementwise),
    ):
        [group] = suited([average(window, shape)], config)
        assert isinstance(group, unit), (window, shape)

# SPDX-License-Identifier: Apache-2.0
"""Depthwise kernels that PEs do not take as they are: wide ones get rows of taps, dilated ones taps of zero."""

from collections import Counter

import numpy as np

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.layer import Depthwise, Separable
from eyrie.compiler.ir.window import Window
from eyrie.compiler.operators.convolution import DepthwiseConv2D
from eyrie.compiler.target.limits import folded
from eyrie.compiler.target.mapping import mappings
from eyrie.compiler.target.suit import by_taps
from eyrie.measure.dataset.layers import Shape, model
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.inputs import random_inputs
from eyrie.testing.samples import scaled
from tests.compiler.test_turned_maps import check_program, compiled

LAYERS = scaled(60)
CONFIGS = (DEFAULT, AcceleratorConfig(rows=12, cols=5), AcceleratorConfig(multipliers=1))


def test_kernels_that_fold() -> None:
    """All of 8 to 32 columns do: rows of 7 columns at most, an even number of columns apart."""
    for taps in range(8, 33):
        window = folded(Window((1, taps)))
        assert window is not None and window.taps == taps and window.span == (1, taps)
        assert window.kernel[0] <= 9 and window.fold <= window.kernel[1] <= 7 and window.fold % 2 == 0
    padded = folded(Window((1, 9), pads=(0, 0, 4, 3)))
    assert padded is not None and padded.pads == (0, 0, 4, 3)
    above, dilated = Window((1, 9), pads=(1, 0, 4, 4)), Window((1, 9), dilation=(1, 2))
    assert not any(map(folded, (Window((1, 60)), Window((3, 9)), above, dilated)))


def _layer(rng: np.random.Generator, n: int) -> Shape:
    """Return a depthwise layer on a map of one row or of one column, every second with a pointwise layer after it."""
    taps, stride = int(rng.integers(8, 33)), int(rng.integers(1, 3))
    size, channels = taps + int(rng.integers(0, 60)), int(rng.integers(4, 72))
    kind, padding = ("depthwise", "separable")[n % 2], ("valid", "same")[n // 2 % 2]
    height, width, rows, cols = (1, size, 1, taps) if rng.random() < 0.5 else (size, 1, taps, 1)
    outputs = int(rng.integers(1, 48)) if kind == "separable" else channels
    return Shape(kind, height, width, channels, outputs, rows, cols, stride, padding=padding)


def _check_kernel(graph: Graph, group: Depthwise | Separable, rng: np.random.Generator) -> None:
    """Compare the folded kernel of a random channel with the layer's: numpy slides both over a row."""
    [filters] = [node.operator.filters for node in graph.nodes if isinstance(node.operator, DepthwiseConv2D)]
    channel = int(rng.integers(filters.shape[-1]))
    kernel = filters[..., channel].ravel().astype(int)
    signal, fold = rng.integers(-128, 128, len(kernel) + 20), group.window.fold
    rows = [
        np.convolve(signal[fold * row :], taps[::-1], "valid")[:21]
        for row, taps in enumerate(group.depthwise[..., channel].astype(int))
    ]
    np.testing.assert_array_equal(sum(rows), np.convolve(signal, kernel[::-1], "valid"))


def test_random_layers(seed: int) -> None:
    """The accelerator's program makes what tflite-micro makes, and no weight of zero is counted as work."""
    seen = Counter()
    for n in range(LAYERS):
        rng = np.random.default_rng(seed + n)
        shape, config = _layer(rng, n), CONFIGS[n % len(CONFIGS)]
        content = model(rng, shape)
        graph = tflite.from_bytes(content)
        built = compiled(graph, config, turn=shape.W == 1)
        groups = built.schedule.plan.groups
        for group in groups:
            if isinstance(group, (Depthwise, Separable)) and group.window.fold:
                seen[group.kind] += 1
                seen["padded"] += any(group.window.pads)
                _check_kernel(graph, group, rng)
        assert not isinstance(groups[0], Elementwise)  # a copy of the input, with padding
        assert sum(group.macs for group in groups) == sum(node.macs for node in graph.nodes), f"seed {seed + n}"
        [values] = random_inputs(graph, 1, seed)
        expected = RUN[Reference.MICRO](content, values[0])
        check_program(built.image, graph, values[0], expected, config, f"seed {seed + n}: {shape}")
    assert seen["depthwise"] + seen["separable"] > LAYERS * 3 // 4 and min(seen.values()) > 0, seen


def test_dilated_layers(seed: int) -> None:
    """The SUPERs run dilated kernels, alone and fused, if that takes fewer cycles than an implicit GEMM."""
    seen = Counter()
    for n in range(LAYERS):
        rng = np.random.default_rng([seed, n])
        dilation, (rows, cols) = 2 + n % 3, rng.choice([(3, 3), (2, 3), (3, 1), (1, 3), (4, 2)]) if n > 2 else (3, 3)
        height, width = (int(dilation * (taps - 1) + rng.integers(8, 24)) for taps in (rows, cols))
        channels, outputs = int(rng.integers(4, 48)), int(rng.integers(1, 32))
        kind, padding = ("depthwise", "separable")[n % 2], str(rng.choice(["valid", "same"]))
        outputs = outputs if kind == "separable" else channels
        shape = Shape(kind, height, width, channels, outputs, int(rows), int(cols), 1, dilation, padding)
        content, config = model(rng, shape), CONFIGS[n % len(CONFIGS)]
        graph = tflite.from_bytes(content)
        built = compiled(graph, config, turn=False)
        groups = built.schedule.plan.groups
        seen["supers" if any(isinstance(group, (Depthwise, Separable)) for group in groups) else "by taps"] += 1
        assert sum(group.macs for group in groups) == sum(node.macs for node in graph.nodes), f"layer {n}"
        [values] = random_inputs(graph, 1, seed)
        expected = RUN[Reference.MICRO](content, values[0])
        check_program(built.image, graph, values[0], expected, config, f"layer {n}: {shape}")
    assert seen["supers"] and seen["by taps"], seen


def test_a_dilated_layer_takes_fewer_cycles() -> None:
    """14 x 14 x 16, 3 x 3, dilation 2: a kernel of 5 x 5 with 9 taps takes fewer cycles than nine pointwise passes."""
    graph = tflite.from_bytes(model(np.random.default_rng(1), Shape("depthwise", 14, 14, 16, 16, 3, 3, 1, 2, "same")))
    [group] = compiled(graph, DEFAULT, turn=False).schedule.plan.groups
    assert isinstance(group, Depthwise) and group.window.dense == (5, 5)
    fast, slow = (mappings(DEFAULT, each, 14)[0].cycles for each in (group, by_taps(group)))
    assert fast < 0.7 * slow

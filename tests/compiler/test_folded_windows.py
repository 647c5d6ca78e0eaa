# SPDX-License-Identifier: Apache-2.0
"""Depthwise kernels of one row that are wider than PEs take: their taps in several rows, of one row of the map."""

from collections import Counter

import numpy as np

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.layer import Depthwise, Separable
from eyrie.compiler.ir.window import Window
from eyrie.compiler.operators.convolution import DepthwiseConv2D
from eyrie.compiler.target.limits import folded
from eyrie.measure.dataset.layers import Shape, model
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.inputs import random_inputs
from eyrie.testing.samples import scaled
from tests.compiler.test_turned_maps import compiled

LAYERS = scaled(60)
CONFIGS = (DEFAULT, AcceleratorConfig(rows=12, cols=5), AcceleratorConfig(multipliers=1))


def test_kernels_that_fold() -> None:
    """All of 8 to 32 columns do: rows of 7 columns at most, each an even number of columns after the one before."""
    for taps in range(8, 33):
        window = folded(Window((1, taps)))
        assert window is not None and window.taps == taps and window.span == (1, taps)
        assert window.kernel[0] <= 9 and window.fold <= window.kernel[1] <= 7 and window.fold % 2 == 0
    padded, dilated = Window((1, 9), pads=(0, 0, 4, 4)), Window((1, 9), dilation=(1, 2))
    assert not any(map(folded, (Window((1, 60)), Window((3, 9)), padded, dilated)))


def test_a_folded_map_is_the_same_words() -> None:
    """Rows of a folded map begin a fold apart in the words of the row, and end where the kernel ends."""
    window, whole = Window((2, 7), fold=6), FeatureMap(1, 15, 3, 100, 1)
    seen = whole.folded(window)
    assert (seen.rows, seen.cols, seen.pitch, seen.group_step) == (2, 9, whole.pitch, whole.group_step)
    assert [seen.row_address(y) for y in range(2)] == [100, 106]


def _layer(rng: np.random.Generator) -> Shape:
    """Return a depthwise layer on a map of one row or of one column, some with a pointwise layer after it."""
    taps, stride = int(rng.integers(8, 33)), int(rng.integers(1, 3))
    size, channels = taps + int(rng.integers(0, 60)), int(rng.integers(4, 72))
    kind, padding = str(rng.choice(["depthwise", "separable"])), str(rng.choice(["valid", "same"]))
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
        shape, config = _layer(rng), CONFIGS[n % len(CONFIGS)]
        content = model(rng, shape)
        graph = tflite.from_bytes(content)
        built = compiled(graph, config, turn=shape.W == 1)
        groups = built.schedule.plan.groups
        for group in groups:
            if isinstance(group, (Depthwise, Separable)) and group.window.fold:
                seen[group.kind] += 1
                _check_kernel(graph, group, rng)
        seen["padded"] += any(isinstance(group, Elementwise) for group in groups)
        assert sum(group.macs for group in groups) == sum(node.macs for node in graph.nodes), f"seed {seed + n}"
        [values] = random_inputs(graph, 1, seed)
        [expected] = RUN[Reference.MICRO](content, values[0])
        [(name, place)] = built.image.inputs.items()
        run = FunctionalSimulator(built.image.with_inputs({name: values[0].reshape(place.shape)}), config)
        run.run(built.image.program.address)
        [made] = built.image.outputs_in(run.dram).values()
        np.testing.assert_array_equal(made.ravel(), expected.ravel(), err_msg=f"seed {seed + n}: {shape}")
    assert seen["depthwise"] + seen["separable"] > LAYERS * 3 // 4 and min(seen.values()) > 0, seen

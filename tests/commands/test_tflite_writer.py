# SPDX-License-Identifier: Apache-2.0
"""eyrie/training/tflite_writer.py: what it writes comes back through the importer, and wrong shapes are rejected."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.model.operators.quantization import requantization
from eyrie.training import tflite_reference
from tests.commands import small_nets
from tests.commands.small_nets import VALID, Quant, TfliteBuilder, bias, scales, weights


def test_round_trip(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    net = TfliteBuilder("all operators of the accelerator")
    first, last = Quant(0.5, 7), Quant(0.25, -3)
    x = net.input("image", (1, 9, 7, 3), first)
    layers = [
        (weights(rng, 8, 3, 2, 3), scales(rng, 8), bias(rng, 8), Quant(0.125, -128)),
        (weights(rng, 1, 3, 3, 8), scales(rng, 8), bias(rng, 8), Quant(0.0625, 5)),
        (weights(rng, 4, 8), scales(rng, 1), bias(rng, 4), last),
    ]
    x = net.conv("conv", x, *layers[0], stride=1, relu=6)
    x = net.pad("pad", x, 1, 2, 3, 0)
    x = net.depthwise("depthwise", x, *layers[1], stride=2, padding=VALID, relu=True)
    x = net.average_pool("pool", x, size=4, stride=4)
    assert x.shape == (1, 1, 1, 8)
    x = net.reshape("flat", x, (1, 8))
    x = net.fully_connected("fc", x, *layers[2])
    path = tmp_path / "net.tflite"
    path.write_bytes(net.build([x]))

    graph = tflite.load(path)
    conv, pad, depthwise, pool, flat, fc = graph.nodes
    assert [node.operator.name for node in graph.nodes] == [
        "CONV_2D",
        "PAD",
        "DEPTHWISE_CONV_2D",
        "AVERAGE_POOL_2D",
        "RESHAPE",
        "FULLY_CONNECTED",
    ]
    assert [node.where for node in graph.nodes] == ["#0", "#1", "#2", "#3", "#4", "#5"]
    assert (graph.input.name, graph.input.shape) == ("image", (1, 9, 7, 3))
    assert (graph.output.name, graph.output.shape) == ("fc", (1, 4))
    assert conv.operator.pads == (1, 1, 0, 1) and pad.operator.margins == ((0, 0), (1, 2), (3, 0), (0, 0))
    assert (depthwise.operator.stride, depthwise.operator.pads) == ((2, 2), (0, 0, 0, 0))
    assert pool.operator.kernel == (4, 4) and flat.operator.to == (1, 8)
    for node, (filters, scale, biases, out), activation in zip(
        (conv, depthwise, fc), layers, ("RELU6", "RELU", "NONE")
    ):
        operator = node.operator
        assert np.array_equal(operator.filters, filters[0] if node is depthwise else filters)
        assert np.array_equal(operator.bias, biases)
        quantization = node.outputs[0].quantization
        assert (quantization.scale, quantization.zero_point) == out
        limits = requantization(
            node.inputs[0].quantization, np.broadcast_to(scale, len(biases)), quantization, activation
        )
        for name, value in vars(limits).items():
            assert np.array_equal(getattr(operator.requantization(node.inputs, node.outputs), name), value), name


@pytest.mark.parametrize("stride", [1, 2])
def test_litert_computes_what_the_golden_model_does(stride: int, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, stride])
    path = tmp_path / "net.tflite"
    path.write_bytes(small_nets.separable(rng, size=8 * stride))
    images = rng.integers(-128, 128, (20, 8 * stride, 8 * stride, 3)).astype(np.int8)
    graph = tflite.load(path)
    expected = tflite_reference.run(path, images)
    assert len(np.unique(expected)) > 5
    np.testing.assert_array_equal(graph.run_images(images), expected)


def test_wrong_shapes_are_rejected_by_name(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = TfliteBuilder()
    x, out = net.input("image", (1, 8, 8, 3), Quant(1, 0)), Quant(1, 0)
    good = (weights(rng, 8, 3, 3, 3), scales(rng, 8), bias(rng, 8), out)
    with pytest.raises(ValueError, match="^a: weight has 4 channels, input has 3$"):
        net.conv("a", x, weights(rng, 8, 3, 3, 4), *good[1:])
    with pytest.raises(ValueError, match="^b: bias and weight scales must have 8 entries$"):
        net.conv("b", x, good[0], scales(rng, 7), *good[2:])
    with pytest.raises(ValueError, match="^c: expected int8 weights of rank 4 and an int32 bias$"):
        net.conv("c", x, good[0].astype(np.int16), *good[1:])
    with pytest.raises(ValueError, match="^d: weight .* does not fit input"):
        net.depthwise("d", x, weights(rng, 1, 3, 3, 8), *good[1:])
    with pytest.raises(ValueError, match="^e: .* cannot become"):
        net.reshape("e", x, (1, 10))
    with pytest.raises(ValueError, match="^f: needs padding SAME or VALID"):
        net.conv("f", x, *good, padding="FULL")
    with pytest.raises(ValueError, match="^g: shapes .* differ$"):
        net.add("g", x, net.pad("h", x, 1), out)

# SPDX-License-Identifier: Apache-2.0
"""Parts of a network: they run in their order and compute what the network does, and there are no more than needed."""

import itertools

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.passes.constraints import Obstacles, is_view
from eyrie.compiler.passes.index_maps import is_move
from eyrie.compiler.passes.partition import Partition, Side, partition
from eyrie.compiler.passes.simplify import simplified
from eyrie.testing.tflite_builder import STEPS, Builder
from tb.common.random_graphs import draw_graph

NETWORKS = 80


def run(parts: Partition, graph: Graph, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The network's outputs, part by part."""
    values = {tensor.name: value for tensor, value in zip(graph.inputs, inputs, strict=True)}
    for part in parts.parts:
        values |= {
            name: value
            for name, value in part.graph.run(*(values[tensor.name] for tensor in part.graph.inputs)).items()
            if name in {tensor.name for tensor in part.graph.outputs}
        }
    return [values[tensor.name] for tensor in graph.outputs]


def random_sides(graph: Graph, rng: np.random.Generator):
    """An accelerator that runs any operators."""
    names = {node.operator.name for node in graph.nodes}
    runs = {name for name in sorted(names) if rng.random() < 0.6}
    return lambda node, _: [] if node.operator.name in runs else ["not this one"]


def without_last_moves(graph: Graph, reasons):
    """The accelerator does not run moves whose results only the host reads."""

    def on_host(node: Node) -> bool:
        made = {tensor.name for tensor in node.outputs}
        readers = [each for each in graph.nodes if made & {tensor.name for tensor in each.inputs}]
        unread = made & {tensor.name for tensor in graph.outputs} or not readers
        return bool(reasons(node, graph)) or (is_move(node) and not unread and all(map(on_host, readers)))

    found = {node for node in graph.nodes if on_host(node)}
    return lambda node, _: ["not this one"] if node in found else []


def changes(graph: Graph, reasons) -> list[tuple[Side, int]]:
    """Of each way through the network: the side on which it begins, and how often it changes sides."""
    makers = {tensor.name: node for node in graph.nodes for tensor in node.outputs}

    def ways(node: Node) -> list[list[Side]]:
        own = [] if is_view(node) else [Side.HOST if reasons(node, graph) else Side.ACCELERATOR]
        before = [way for tensor in node.activations if tensor.name in makers for way in ways(makers[tensor.name])]
        return [way + own for way in before or [[]]]

    found = (way for node in graph.nodes for way in ways(node) if way)
    return [(way[0], sum(a != b for a, b in itertools.pairwise(way))) for way in found]


def test_random_networks(seed: int) -> None:
    seen: set[int] = set()
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        drawn = draw_graph(rng, longest=9)
        graph = simplified(tflite.from_bytes(drawn.model))
        reasons = random_sides(graph, rng)
        parts = partition(graph, reasons)
        reasons = without_last_moves(graph, reasons)
        about = f"seed {seed}, network {number}\n{graph}\n{parts}"
        nodes = [node for part in parts.parts for node in part.graph.verified().nodes]
        assert len(nodes) == len(graph.nodes) and set(nodes) == set(graph.nodes), about
        for part in parts.parts:
            sides = {
                Side.HOST if reasons(node, graph) else Side.ACCELERATOR
                for node in part.graph.nodes
                if not is_view(node)
            }
            assert sides <= {part.side}, about
        assert all(a.side != b.side for a, b in zip(parts.parts, parts.parts[1:])), about
        ways = changes(graph, reasons)
        needed = 1 + max((count for _, count in ways), default=0)
        longest = {side for side, count in ways if count == needed - 1}
        assert len(parts.parts) <= needed + (len(longest) > 1), about
        inputs = drawn.values
        values = graph.run(*inputs)
        for tensor, value in zip(graph.outputs, run(parts, graph, inputs), strict=True):
            np.testing.assert_array_equal(value, values[tensor.name], err_msg=about)
        seen.add(len(parts.parts))
    assert {1, 2, 3} <= seen, seen


def image_classifier() -> bytes:
    """float32 to float32: QUANTIZE, a convolution, RESIZE_BILINEAR, a fully connected layer, SOFTMAX, DEQUANTIZE."""
    net = Builder()
    picture, answer = net.tensor((1, 4, 4, 1), "float32"), net.tensor((1, 3), "float32")
    x, made, resized, flat, logits = (
        net.tensor(shape, scale=0.1) for shape in ((1, 4, 4, 1), (1, 4, 4, 2), (1, 1, 1, 2), (1, 2), (1, 3))
    )
    likely = net.tensor((1, 3), scale=1 / 256, zero_point=-128)
    filters = net.tensor((2, 1, 1, 1), scale=0.01, data=np.ones((2, 1, 1, 1), np.int8))
    weights = net.tensor((3, 2), scale=0.01, data=np.ones((3, 2), np.int8))
    net.operator("QUANTIZE", [picture], [x])
    net.operator("CONV_2D", [x, filters], [made], **STEPS)
    net.operator("RESIZE_BILINEAR", [made, net.tensor((2,), "int32", data=np.int32([1, 1]))], [resized])
    net.operator("RESHAPE", [resized], [flat], newShape=[1, 2])
    net.operator("FULLY_CONNECTED", [flat, weights], [logits])
    net.operator("SOFTMAX", [logits], [likely], beta=1.0)
    net.operator("DEQUANTIZE", [likely], [answer])
    return net.pack([picture], [answer])


def test_a_network_that_goes_back_and_forth() -> None:
    parts = partition(simplified(tflite.from_bytes(image_classifier())))
    assert (
        str(parts)
        == """\
host    #0                1 operator            16 operations  QUANTIZE
accelerator #1                1 operator            32 operations  CONV_2D
host    #2                1 operator             8 operations  RESIZE_BILINEAR
accelerator #4                1 operator             6 operations  FULLY_CONNECTED
host    #5 to #6         2 operators             6 operations  DEQUANTIZE, SOFTMAX
host    30 operations, 44.118 % of all
        operator #0 QUANTIZE: the accelerator takes int8 tensors, not float32
        operator #2 RESIZE_BILINEAR: the accelerator has no such operator
        operator #5 SOFTMAX: the accelerator has no such operator
        operator #6 DEQUANTIZE: the accelerator takes int8 tensors, not float32"""
    )
    assert parts.host_share == pytest.approx(30 / 68)


def test_what_neither_can_do() -> None:
    net = Builder()
    x, y, z = (net.tensor((1, 8, 8, 8), scale=0.1) for _ in range(3))
    net.custom("Nobodys", [x, x], [y])
    net.custom("Nobodys", [y, x], [z])
    with pytest.raises(Obstacles, match="^operators #0, #1 Nobodys: no such operator is known: write a function "):
        partition(tflite.from_bytes(net.pack([x], [z])))

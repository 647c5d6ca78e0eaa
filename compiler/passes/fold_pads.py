# SPDX-License-Identifier: Apache-2.0
"""Folding of PADs into the convolution or the pool after them."""

from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator, quantized
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import Windowed
from eyrie.compiler.operators.padding import Pad
from eyrie.compiler.operators.pooling import MaxPool2D
from eyrie.model.operators.quantization import INT8_MIN


def fold_pads(graph: Graph) -> Graph:
    """Return the graph with each PAD folded into all of its readers, if they pad with the same value."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    folded: dict[str, tuple[Tensor, Pad]] = {}  # the input and the operator of PADs, by output
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.inputs and node.inputs[0].name in folded:
            source, pad = folded[node.inputs[0].name]
            node = replace(node, inputs=(source,), operator=_with_pads(node.operator, pad))
        if isinstance(node.operator, Pad) and node.outputs[0].name not in ends:
            behind = readers.get(node.outputs[0].name, [])
            if behind and all(_takes(reader.operator, node.operator, node.inputs[0]) for reader in behind):
                folded[node.outputs[0].name] = node.inputs[0], node.operator
                continue
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _takes(reader: Operator, pad: Pad, source: Tensor) -> bool:
    """Return whether an operator can take over a PAD of its input."""
    if isinstance(reader, Pad):
        return reader.value == pad.value
    if len(pad.margins) != 4 or any(pad.margins[0] + pad.margins[3]):
        return False
    if isinstance(reader, MaxPool2D):
        return pad.value == INT8_MIN
    return isinstance(reader, Windowed) and pad.value == quantized(source).zero_point


def _with_pads(operator: Operator, pad: Pad) -> Operator:
    if isinstance(operator, Pad):
        margins = tuple((a + c, b + d) for (a, b), (c, d) in zip(operator.margins, pad.margins))
        return replace(operator, margins=margins)
    assert isinstance(operator, (Windowed, MaxPool2D))  # _takes says so
    (top, bottom, left, right), (_, (above, below), (before, after), _) = operator.pads, pad.margins
    return replace(operator, pads=(top + above, bottom + below, left + before, right + after))

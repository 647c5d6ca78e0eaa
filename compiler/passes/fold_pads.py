# SPDX-License-Identifier: Apache-2.0
"""Padding goes into the convolution or the pool behind it."""

from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operators.convolution import Windowed
from eyrie.compiler.ir.operators.movement import Pad
from eyrie.compiler.ir.operators.operator import Operator
from eyrie.compiler.ir.operators.pooling import MaxPool2D
from eyrie.model.operators.quantization import INT8_MIN


def fold_pads(graph: Graph) -> Graph:
    """Moves each PAD into all that read it, one PAD after another, where these fill their border with the same."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    folded: dict[str, Node] = {}  # PADs by what they make
    nodes: list[Node] = []
    for node in graph.nodes:
        pad = folded.get(node.inputs[0].name) if node.inputs else None
        if pad:
            node = replace(node, inputs=pad.inputs, operator=_with_pads(node.operator, pad.operator))
        if isinstance(node.operator, Pad) and node.outputs[0].name not in ends:
            behind = readers.get(node.outputs[0].name, [])
            if behind and all(_takes(reader, node) for reader in behind):
                folded[node.outputs[0].name] = node
                continue
        nodes.append(node)
    return Graph(graph.inputs, tuple(nodes), graph.outputs)


def _takes(reader: Node, pad: Node) -> bool:
    """Whether a node can do a PAD in front of it."""
    margins, value = pad.operator.margins, pad.operator.value
    if isinstance(reader.operator, Pad):
        return reader.operator.value == value
    if len(margins) != 4 or any(margins[0] + margins[3]):
        return False
    if isinstance(reader.operator, MaxPool2D):
        return value == INT8_MIN
    return isinstance(reader.operator, Windowed) and value == pad.inputs[0].zero_point


def _with_pads(operator: Operator, pad: Pad) -> Operator:
    if isinstance(operator, Pad):
        margins = tuple((a + c, b + d) for (a, b), (c, d) in zip(operator.margins, pad.margins))
        return replace(operator, margins=margins)
    around = (*pad.margins[1], *pad.margins[2])
    return replace(operator, pads=tuple(a + b for a, b in zip(operator.pads, around)))

# SPDX-License-Identifier: Apache-2.0
"""Padding goes into the convolution behind it."""

from dataclasses import replace

from compiler.ir.failure import Unsupported
from compiler.ir.graph import Graph, Node

_TAKE_PADS = ("pad", "conv2d", "depthwise_conv2d")


def fold_pads(graph: Graph) -> Graph:
    """Moves PAD into the convolution behind it, one PAD after another. Raises Unsupported."""
    nodes, waiting = [], None
    for node in graph.nodes:
        if waiting:
            if node.inputs[0].name != waiting.output.name or node.op not in _TAKE_PADS:
                raise _pad_alone(waiting)
            pads = tuple(a + b for a, b in zip(node.pads, waiting.pads))
            node, waiting = replace(node, inputs=waiting.inputs, pads=pads), None
        if node.op == "pad":
            waiting = node
        else:
            nodes.append(node)
    if waiting:
        raise _pad_alone(waiting)
    return Graph(tuple(nodes))


def _pad_alone(node: Node) -> Unsupported:
    return Unsupported(f"operator {node.where} PAD: only before a convolution", layer=node.where)

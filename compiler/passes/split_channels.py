# SPDX-License-Identifier: Apache-2.0
"""A depthwise convolution in parts of its channels, for one that is too large for the GLB."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.operators.convolution import DepthwiseConv2D
from eyrie.compiler.operators.joins import Concatenation
from eyrie.compiler.operators.splits import Split

_WORD = 8  # channels of a word, at which parts begin


def split_channels(graph: Graph, count: int) -> Graph | None:
    """Return the graph of one depthwise convolution, in about `count` parts. Return None for another graph, or if it
    has too few channels."""
    [node] = graph.nodes if len(graph.nodes) == 1 else [None]
    operator = node.operator if node else None
    if not isinstance(operator, DepthwiseConv2D) or not node:
        return None
    (source,), (made,) = node.inputs, node.outputs
    channels = source.shape[-1]
    size = -(-channels // count // _WORD) * _WORD
    starts = range(0, channels, size)
    if operator.outputs != channels or len(starts) < 2:
        return None

    def parts(of: str) -> tuple:
        tensor = source if of == "in" else made
        return tuple(
            replace(
                tensor,
                name=f"{made.name}#{of}{start}",
                shape=(*tensor.shape[:-1], min(size, channels - start)),
            )
            for start in starts
        )

    taken, results = parts("in"), parts("out")
    split = Split(axis=3, sizes=tuple(part.shape[-1] for part in taken))
    nodes = [Node(split, node.where, (source,), taken)]
    for start, part, result in zip(starts, taken, results):
        own = slice(start, start + size)
        scales = operator.scales if len(operator.scales) == 1 else operator.scales[own]
        less = replace(operator, filters=operator.filters[..., own], scales=np.asarray(scales), bias=operator.bias[own])
        nodes.append(Node(less, node.where, (part,), (result,)))
    nodes.append(Node(Concatenation(axis=3, unsigned=operator.unsigned), node.where, results, (made,)))
    return replace(graph, nodes=tuple(nodes))

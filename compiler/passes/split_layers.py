# SPDX-License-Identifier: Apache-2.0
"""A convolution in parts, for one that is too large for the GLB: of channels if it is depthwise, else of columns, or of
filters if it has few columns.

Parts of columns are faster: a pass with all columns of one would keep the filters of its tile for all of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import Conv2D, DepthwiseConv2D, Windowed
from eyrie.compiler.operators.joins import Concatenation
from eyrie.compiler.operators.parts import Slice
from eyrie.compiler.operators.splits import Split

_WORD = 8  # channels of a word, at which parts begin
_ROWS, _COLUMNS, _CHANNELS = 1, 2, 3  # axes


def split_layer(graph: Graph, count: int, room: int) -> Graph | None:
    """Return the graph of one convolution, in `count` parts at most, None for another graph or a layer that is too
    narrow. room: bytes of the GLB"""
    if len(graph.nodes) != 1 or not isinstance(graph.nodes[0].operator, Windowed):
        return None
    [node] = graph.nodes
    nodes = _by_channels(node, count) or _by_columns(node, count) or _by_filters(node, count, room)
    return replace(graph, nodes=tuple(nodes)) if nodes else None


def _by_channels(node: Node, count: int) -> list[Node]:
    """Return the nodes of a depthwise convolution; [] if it has few channels, or several filters for each."""
    operator, source = node.operator, node.inputs[0]
    owns = _shares(source.shape[_CHANNELS], count)
    if not isinstance(operator, DepthwiseConv2D) or operator.outputs != source.shape[_CHANNELS] or len(owns) == 1:
        return []
    sizes = [own.stop - own.start for own in owns]
    parts = [_sized(node, source, _CHANNELS, n, size) for n, size in enumerate(sizes)]
    split = Node(Split(axis=_CHANNELS, sizes=tuple(sizes)), node.where, node.inputs, tuple(parts))
    return [split, *_joined(node, _CHANNELS, [_of_channels(operator, own) for own in owns], parts, sizes)]


def _shares(channels: int, count: int) -> list[slice]:
    """Return the channels of each of `count` parts at most, whole words of them."""
    size = -(-channels // count // _WORD) * _WORD
    return [slice(start, min(start + size, channels)) for start in range(0, channels, size)]


def _of_channels(operator: DepthwiseConv2D | Conv2D, own: slice) -> Operator:
    """Return the part of a convolution that makes some channels."""
    filters = operator.filters[..., own] if isinstance(operator, DepthwiseConv2D) else operator.filters[own]
    scales = operator.scales if len(operator.scales) == 1 else operator.scales[own]
    return replace(operator, filters=filters, scales=np.asarray(scales), bias=operator.bias[own])


def _by_filters(node: Node, count: int, room: int) -> list[Node]:
    """Return the nodes of a convolution whose parts make words of channels; [] if it makes few, or if the rows that it
    reads at once do not fit."""
    operator, (source,), owns = node.operator, node.inputs, _shares(node.outputs[0].shape[_CHANNELS], count)
    if not isinstance(operator, Conv2D) or operator.filters.shape[3] != source.shape[_CHANNELS] or len(owns) == 1:
        return []
    if min(operator.window.span[0], source.shape[_ROWS]) * source.size // source.shape[_ROWS] >= room:
        return []
    operators = [_of_channels(operator, own) for own in owns]
    return _joined(node, _CHANNELS, operators, [source] * len(owns), [own.stop - own.start for own in owns])


def _by_columns(node: Node, count: int) -> list[Node]:
    """Return the nodes of a convolution whose parts read common columns at their borders; [] if it is narrow."""
    operator, (source,), (made,) = node.operator, node.inputs, node.outputs
    assert isinstance(operator, Windowed)
    width, columns = source.shape[_COLUMNS], made.shape[_COLUMNS]
    step, span = operator.window.stride[1], operator.window.span[1]
    top, bottom, left, _ = operator.pads
    size = max(-(-columns // count), -(-span // step))
    if size >= columns:
        return []
    nodes, operators, parts, sizes = list[Node](), list[Operator](), list[Tensor](), list[int]()
    for start in range(0, columns, size):
        end = min(start + size, columns)
        first, last = start * step - left, (end - 1) * step - left + span
        begin, behind = max(first, 0), min(last, width)
        if behind <= begin:  # pads alone
            return []
        parts.append(_sized(node, source, _COLUMNS, len(parts), behind - begin))
        slice_ = Slice(begin=(0, 0, begin, 0), size=parts[-1].shape)
        nodes.append(Node(slice_, node.where, (source,), (parts[-1],)))
        operators.append(replace(operator, pads=(top, bottom, begin - first, last - behind)))
        sizes.append(end - start)
    return [*nodes, *_joined(node, _COLUMNS, operators, parts, sizes)]


def _joined(
    node: Node, axis: int, operators: Sequence[Operator], parts: Sequence[Tensor], sizes: Sequence[int]
) -> list[Node]:
    """Return the nodes that compute the parts of a result and join them."""
    results = tuple(_sized(node, node.outputs[0], axis, n, size) for n, size in enumerate(sizes))
    made = [
        Node(each, node.where, (part,), (result,)) for each, part, result in zip(operators, parts, results, strict=True)
    ]
    return [*made, Node(Concatenation(axis=axis), node.where, results, node.outputs)]


def _sized(node: Node, tensor: Tensor, axis: int, number: int, size: int) -> Tensor:
    shape = (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
    return replace(tensor, name=f"{node.outputs[0].name}#{tensor.name}#{number}", shape=shape)

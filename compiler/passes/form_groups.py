# SPDX-License-Identifier: Apache-2.0
"""From operators to the layer groups that the machine runs.

A depthwise and the pointwise convolution behind it become one group, whose intermediate stays in the array; an
average pool over the whole map is done on the way out.
"""

from dataclasses import replace

import numpy as np

from compiler.ir.failure import Unsupported
from compiler.ir.graph import Graph, Node
from compiler.ir.layer import (
    OFFSET_ZERO_POINT,
    Average,
    Convolution,
    Depthwise,
    Group,
    Map,
    Output,
    Pointwise,
    Separable,
    Table,
    Window,
    map_of,
)
from compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D
from compiler.ir.operators.movement import Reshape
from compiler.ir.operators.pooling import AveragePool2D
from compiler.passes.constraints import is_pointwise
from model.operators.convolution import fold_zero_point

_NAMES = {"separable": "block"}  # other groups are named by their kind


def _table(node: Node) -> Table:
    zero_point, operator = node.inputs[0].zero_point, node.operator
    axis = -1 if isinstance(operator, DepthwiseConv2D) else 0
    # With zero point -128 the array reads q ^ 0x80, in which zero is zero: q + 128.
    offset = 0 if zero_point == OFFSET_ZERO_POINT else zero_point
    bias = fold_zero_point(operator.bias, operator.filters, offset, channel_axis=axis)
    limits = operator.requantization(node.inputs, node.outputs)
    output = Output(int(limits.zero_point), int(limits.minimum), int(limits.maximum))
    count = len(bias)
    return Table(np.asarray(bias, np.int32), np.broadcast_to(np.asarray(limits.multiplier, np.int32), count),
                 np.broadcast_to(np.asarray(limits.shift, np.int8), count), output)


def form_groups(graph: Graph) -> list[Group]:
    """Of a graph that keeps all constraints (constraints.py). Raises Unsupported."""
    maps = _maps(graph)
    groups: list[Group] = []
    nodes = [node for node in graph.nodes if not isinstance(node.operator, Reshape)]
    while nodes:
        node = nodes.pop(0)
        operator = node.operator
        if isinstance(operator, AveragePool2D) and groups:
            _average(groups, node, maps)
        elif isinstance(operator, DepthwiseConv2D) and nodes and is_pointwise(nodes[0].operator):
            groups.append(_separable(node, nodes.pop(0), maps))
        elif isinstance(operator, DepthwiseConv2D):
            groups.append(_depthwise(node, maps))
        elif is_pointwise(operator):
            groups.append(_pointwise(node, maps))
        elif isinstance(operator, Conv2D):
            groups.append(_convolution(node, maps))
        else:
            raise Unsupported(f"{node.place}: not supported here", layer=node.where)
    groups = [replace(group, name=f"{_NAMES.get(group.kind, group.kind)}{n}") for n, group in enumerate(groups)]
    _check_chain(graph, groups, maps)
    return groups


def _maps(graph: Graph) -> dict[str, Map]:
    """The maps of all tensors by name; a RESHAPE that leaves the map as it is makes no other."""
    maps = {graph.input.name: map_of(graph.input)}
    for node in graph.nodes:
        source, output = node.inputs[0], node.outputs[0]
        maps.setdefault(source.name, map_of(source))
        maps[output.name] = maps[source.name] if isinstance(node.operator, Reshape) else map_of(output)
    return maps


def _check_chain(graph: Graph, groups: list[Group], maps: dict[str, Map]) -> None:
    """The groups lead from the graph's input to its output: nothing was lost on the way."""
    reads = [group.source.name for group in groups]
    made = [group.output.name for group in groups]
    if [graph.input.name, *made] != [*reads, maps[graph.output.name].name]:
        raise Unsupported(f"the groups {', '.join(group.name for group in groups)} are not the whole network")


def _convolution(node: Node, maps: dict[str, Map]) -> Convolution:
    return Convolution(**_ends(node, node, maps), window=_window(node), filters=node.operator.filters,
                       table=_table(node))


def _pointwise(node: Node, maps: dict[str, Map]) -> Pointwise:
    return Pointwise(**_ends(node, node, maps), filters=_flat_filters(node), table=_table(node))


def _depthwise(node: Node, maps: dict[str, Map]) -> Depthwise:
    return Depthwise(**_ends(node, node, maps), window=_window(node), depthwise=node.operator.filters,
                     middle=_table(node))


def _separable(depthwise: Node, pointwise: Node, maps: dict[str, Map]) -> Separable:
    return Separable(**_ends(depthwise, pointwise, maps), window=_window(depthwise), filters=_flat_filters(pointwise),
                     table=_table(pointwise), depthwise=depthwise.operator.filters, middle=_table(depthwise))


def _ends(first: Node, last: Node, maps: dict[str, Map]) -> dict:
    return {"name": last.where, "source": maps[first.inputs[0].name], "output": maps[last.outputs[0].name]}


def _flat_filters(node: Node) -> np.ndarray:
    """Filters of pointwise work, [M, C]."""
    filters = node.operator.filters
    return filters.reshape(len(filters), -1)


def _window(node: Node) -> Window:
    operator = node.operator
    return Window(operator.kernel, operator.stride[0], operator.pads)


def _average(groups: list[Group], node: Node, maps: dict[str, Map]) -> None:
    """Averaging over the whole map is part of the group before it."""
    rows, cols, _ = maps[node.inputs[0].name].shape
    groups[-1] = replace(groups[-1], output=maps[node.outputs[0].name], epilogue=(Average(rows * cols),))

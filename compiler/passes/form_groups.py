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
    Output,
    Pointwise,
    Separable,
    Table,
    Window,
)
from model.messages import times
from model.operators.convolution import fold_zero_point

_NAMES = {"separable": "block"}  # other groups are named by their kind


def _table(node: Node) -> Table:
    zero_point = node.inputs[0].zero_point
    axis = -1 if node.op == "depthwise_conv2d" else 0
    # With zero point -128 the array reads q ^ 0x80, in which zero is zero: q + 128.
    offset = 0 if zero_point == OFFSET_ZERO_POINT else zero_point
    bias = fold_zero_point(node.bias, node.filters, offset, channel_axis=axis)
    limits = node.limits
    output = Output(int(limits.zero_point), int(limits.minimum), int(limits.maximum))
    count = len(bias)
    return Table(np.asarray(bias, np.int32), np.broadcast_to(np.asarray(limits.multiplier, np.int32), count),
                 np.broadcast_to(np.asarray(limits.shift, np.int8), count), output)


def form_groups(graph: Graph) -> list[Group]:
    """Of a graph without PAD. Raises Unsupported."""
    groups: list[Group] = []
    nodes = list(graph.nodes)
    while nodes:
        node = nodes.pop(0)
        if node.op == "average_pool2d":
            _pool(groups, node)
        elif node.op == "depthwise_conv2d" and nodes and _is_pointwise(nodes[0]):
            groups.append(_separable(node, nodes.pop(0)))
        elif node.op == "depthwise_conv2d":
            groups.append(_depthwise(node))
        elif node.op in ("conv2d", "fully_connected"):
            groups.append(_pointwise(node) if _is_pointwise(node) else _convolution(node))
        else:
            raise Unsupported(f"operator {node.where} {node.op}: not supported here", layer=node.where)
    groups = [replace(group, name=f"{_NAMES.get(group.kind, group.kind)}{n}") for n, group in enumerate(groups)]
    for group in groups:
        if group.averaged and isinstance(group, (Convolution, Depthwise)):
            raise Unsupported(f"group {group.name}: an average needs a pointwise convolution before it",
                              layer=group.name)
    _check_chain(graph, groups)
    return groups


def _check_chain(graph: Graph, groups: list[Group]) -> None:
    """The groups lead from the graph's input to its output: nothing was lost on the way."""
    reads = [group.source.name for group in groups]
    made = [group.output.name for group in groups]
    if [graph.input.name, *made] != [*reads, graph.output.name]:
        raise Unsupported(f"the groups {', '.join(group.name for group in groups)} are not the whole network")


def _is_pointwise(node: Node) -> bool:
    """Whether it is pointwise work on the map as it is."""
    return node.op == "fully_connected" or (node.op == "conv2d" and node.kernel == (1, 1) and node.stride == 1
                                            and not any(node.pads))


def _convolution(node: Node) -> Convolution:
    return Convolution(**_ends(node, node), window=_window(node), filters=node.filters, table=_table(node))


def _pointwise(node: Node) -> Pointwise:
    return Pointwise(**_ends(node, node), filters=_flat_filters(node), table=_table(node))


def _depthwise(node: Node) -> Depthwise:
    return Depthwise(**_ends(node, node), window=_window(node), depthwise=node.filters, middle=_table(node))


def _separable(depthwise: Node, pointwise: Node) -> Separable:
    filters = _flat_filters(pointwise)
    return Separable(**_ends(depthwise, pointwise), window=_window(depthwise), filters=filters, table=_table(pointwise),
                     depthwise=depthwise.filters, middle=_table(depthwise))


def _ends(first: Node, last: Node) -> dict:
    return {"name": last.where, "source": first.inputs[0], "output": last.output}


def _flat_filters(node: Node) -> np.ndarray:
    """Filters of pointwise work, [M, C]."""
    if node.op == "fully_connected" and node.inputs[0].shape[:2] != (1, 1):
        raise Unsupported(f"operator {node.where}: fully connected on a map of "
                          f"{times(node.inputs[0].shape)}, must be 1 x 1 x C", layer=node.where)
    return node.filters.reshape(len(node.filters), -1)


def _window(node: Node) -> Window:
    if max(node.kernel) > 3 or node.stride > 2:
        raise Unsupported(f"operator {node.where}: a kernel of {times(node.kernel)} at stride {node.stride}, "
                          "supported are at most 3 x 3 and 2", layer=node.where)
    return Window(node.kernel, (node.stride, node.stride), node.pads)


def _pool(groups: list[Group], node: Node) -> None:
    """Averaging over the whole map is part of the group before it; over one pixel it changes nothing."""
    rows, cols, _ = node.inputs[0].shape
    if not groups or groups[-1].output.name != node.inputs[0].name or node.kernel != (rows, cols) or any(node.pads):
        raise Unsupported(f"operator {node.where} AVERAGE_POOL_2D: only over the whole map, after a convolution",
                          layer=node.where)
    epilogue = (Average(rows * cols),) if rows * cols > 1 else groups[-1].epilogue
    groups[-1] = replace(groups[-1], output=node.output, epilogue=epilogue)

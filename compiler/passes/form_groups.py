# SPDX-License-Identifier: Apache-2.0
"""From operators to the layer groups that the machine runs.

A depthwise and the pointwise convolution behind it become one group, whose intermediate stays in the array; an
average pool over the whole map is done on the way out.
"""

from dataclasses import replace

import numpy as np

from compiler.ir.failure import Unsupported
from compiler.ir.graph import Graph, Node
from compiler.ir.layer import OFFSET_ZERO_POINT, Group, Output, Table, Window
from model.messages import times
from model.operators.convolution import fold_zero_point


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
        elif node.op == "depthwise_conv2d" and nodes and _pointwise(nodes[0]):
            groups.append(_group(nodes.pop(0), depthwise=node))
        elif node.op == "depthwise_conv2d":
            groups.append(_group(None, depthwise=node))
        elif node.op in ("conv2d", "fully_connected"):
            groups.append(_group(node))
        else:
            raise Unsupported(f"operator {node.where} {node.op}: not supported here")
    groups = [replace(group, name=_name(n, group)) for n, group in enumerate(groups)]
    for group in groups:
        if group.pool_count and (group.filters is None or group.is_convolution):
            raise Unsupported(f"group {group.name}: an average needs a pointwise convolution before it")
    _check_chain(graph, groups)
    return groups


def _check_chain(graph: Graph, groups: list[Group]) -> None:
    """The groups lead from the graph's input to its output: nothing was lost on the way."""
    reads = [group.source.name for group in groups]
    made = [group.output.name for group in groups]
    if [graph.input.name, *made] != [*reads, graph.output.name]:
        raise Unsupported(f"the groups {', '.join(group.name for group in groups)} are not the whole network")


def _name(n: int, group: Group) -> str:
    """conv0, block1, ..., fc9: kind and place."""
    if group.is_convolution:
        return f"conv{n}"
    if group.depthwise is not None:
        return f"{'block' if group.filters is not None else 'depthwise'}{n}"
    return f"{'fc' if group.source.shape[:2] == (1, 1) else 'pointwise'}{n}"


def _pointwise(node: Node) -> bool:
    """Whether it is pointwise work on the map as it is."""
    return node.op == "fully_connected" or (node.op == "conv2d" and node.kernel == (1, 1) and node.stride == 1
                                            and not any(node.pads))


def _group(node: Node | None, depthwise: Node | None = None) -> Group:
    first, last = depthwise or node, node or depthwise
    filters = None
    if node is not None:
        filters = node.filters
        if node.op == "fully_connected" and node.inputs[0].shape[:2] != (1, 1):
            raise Unsupported(f"operator {node.where}: fully connected on a map of "
                              f"{times(node.inputs[0].shape)}, must be 1 x 1 x C")
        if _pointwise(node):
            filters = filters.reshape(len(filters), -1)
        elif max(node.kernel) > 3 or node.stride > 2:
            raise _too_large(node)
    if depthwise is not None and (max(depthwise.kernel) > 3 or depthwise.stride > 2):
        raise _too_large(depthwise)
    return Group(
        name=last.output.name.split("/")[-1], source=first.inputs[0], output=last.output,
        window=Window(first.kernel, first.stride, first.pads), filters=filters,
        table=_table(node) if node is not None else None,
        depthwise=depthwise.filters if depthwise is not None else None,
        middle=_table(depthwise) if depthwise is not None else None,
    )


def _too_large(node: Node) -> Unsupported:
    return Unsupported(f"operator {node.where}: a kernel of {times(node.kernel)} at stride {node.stride}, "
                       "supported are at most 3 x 3 and 2")


def _pool(groups: list[Group], node: Node) -> None:
    """Averaging over the whole map is part of the group before it; over one pixel it changes nothing."""
    rows, cols, _ = node.inputs[0].shape
    if not groups or groups[-1].output.name != node.inputs[0].name or node.kernel != (rows, cols) or any(node.pads):
        raise Unsupported(f"operator {node.where} AVERAGE_POOL_2D: only over the whole map, after a convolution")
    count = rows * cols if rows * cols > 1 else groups[-1].pool_count
    groups[-1] = replace(groups[-1], output=node.output, pool_count=count)

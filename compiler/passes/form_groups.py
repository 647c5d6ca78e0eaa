# SPDX-License-Identifier: Apache-2.0
"""Fusion: from operators to the fused operators that the accelerator runs.

A depthwise convolution and the pointwise convolution after it become one fused operator, whose intermediate stays in
the array. An average pool over the whole map, or an elementwise operation on a result and an older feature map, is
fused as epilogue.
"""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.layer import (
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
    window_of,
)
from eyrie.compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected, Weighted
from eyrie.compiler.ir.operators.elementwise import Mul, Sub
from eyrie.compiler.ir.operators.operator import quantized
from eyrie.compiler.ir.operators.pooling import AveragePool2D, Mean, Pool
from eyrie.compiler.ir.operators.tables import Function, Requantize
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.compiler.passes.channel_factors import factors_group
from eyrie.compiler.passes.constraints import is_pointwise, is_view
from eyrie.compiler.passes.moves import move_groups
from eyrie.compiler.passes.pools import mean_group, pool_group
from eyrie.compiler.passes.word_operations import KINDS, operands_of, word_operation
from eyrie.model.operators.convolution import fold_zero_point

_NAMES = {"separable": "block"}  # other groups are named by their kind


def _table(node: Node, operator: Weighted) -> Table:
    zero_point = quantized(node.inputs[0]).zero_point
    axis = -1 if isinstance(operator, DepthwiseConv2D) else 0
    # With zero point -128 the array reads q ^ 0x80, in which zero is zero: q + 128.
    offset = 0 if zero_point == OFFSET_ZERO_POINT else zero_point
    bias = fold_zero_point(operator.bias, operator.filters, offset, channel_axis=axis)
    limits = operator.fixed_point(node.inputs, node.outputs)
    assert limits is not None  # constraints.fixed_point
    output = Output(int(limits.zero_point), int(limits.minimum), int(limits.maximum))
    count = len(bias)
    return Table(
        np.asarray(bias, np.int32),
        np.broadcast_to(np.asarray(limits.multiplier, np.int32), count),
        np.broadcast_to(np.asarray(limits.shift, np.int8), count),
        output,
    )


def form_groups(graph: Graph) -> list[Group]:
    """Return the fused operators of a graph that meets all constraints (constraints.py), each after the makers of its
    inputs.

    Raise Unsupported if they do not cover the network.
    """
    forming = _Forming(graph)
    for node in graph.nodes:
        if not is_view(node):
            forming.take(node)
    return forming.finished()


class _Forming:
    """The fused operators in progress, node by node.

    made: the fused operator that makes a feature map, by name; halves: depthwise nodes that wait for the pointwise node
    after them, with their operator, by output
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.maps = graph, maps_of(graph)
        nodes = [node for node in graph.nodes if not is_view(node)]
        self.readers: dict[str, list[Node]] = {}
        for node in nodes:
            for tensor in node.activations:
                self.readers.setdefault(self.maps[tensor.name].name, []).append(node)
        self.ends = {self.maps[tensor.name].name for tensor in graph.outputs}
        self.groups: list[Group] = []
        self.made: dict[str, int] = {}
        self.halves: dict[str, tuple[Node, DepthwiseConv2D]] = {}

    def take(self, node: Node) -> None:
        operator, source, maps = node.operator, self.maps[node.activations[0].name], self.maps
        if isinstance(operator, AveragePool2D) and self._averages(source, operator):
            rows, cols, _ = source.shape
            self._extend(source, node, epilogue=(Average(rows * cols),))
        elif isinstance(operator, Pool):
            self._add(pool_group(node, operator, maps))
        elif isinstance(operator, Mean):
            self._add(mean_group(node, operator, maps))
        elif isinstance(operator, Function):
            self._look_up(source, node)
        elif type(operator) in KINDS:
            self._combine(node)
        elif isinstance(operator, DepthwiseConv2D) and self._is_half(node):
            self.halves[maps[node.outputs[0].name].name] = node, operator
        elif isinstance(operator, DepthwiseConv2D):
            self._add(_depthwise(node, operator, maps))
        elif isinstance(operator, (Conv2D, FullyConnected)):
            self._add(self._summed(node, operator, source))
        else:
            for group in move_groups(node, maps):
                self._add(group)

    def _summed(self, node: Node, operator: Conv2D | FullyConnected, source: Map) -> Group:
        """Return the fused operator of a node with weights that sums over channels."""
        if not is_pointwise(node):
            return _convolution(node, operator, self.maps)
        if source.name in self.halves:
            return _separable(*self.halves.pop(source.name), node, operator, self.maps)
        return _pointwise(node, operator, self.maps)

    def _add(self, group: Group) -> None:
        self.made[group.output.name] = len(self.groups)
        self.groups.append(group)

    def _extend(
        self, result: Map, node: Node, epilogue: tuple[Average | WordOperation, ...], others: tuple[Map, ...] = ()
    ) -> None:
        """Fuse a node as epilogue of the fused operator that makes `result` and has no epilogue."""
        place, output = self.made.pop(result.name), self.maps[node.outputs[0].name]
        self.groups[place] = replace(self.groups[place], output=output, epilogue=epilogue, others=others)
        self.made[output.name] = place

    def _alone(self, map_: Map) -> bool:
        """Return whether a fused operator makes a feature map for a single consumer."""
        return map_.name in self.made and len(self.readers[map_.name]) == 1 and map_.name not in self.ends

    def _is_half(self, node: Node) -> bool:
        """Return whether the only consumer of a depthwise node is a pointwise node."""
        made = self.maps[node.outputs[0].name].name
        behind = self.readers.get(made, [])
        return len(behind) == 1 and made not in self.ends and is_pointwise(behind[0])

    def _averages(self, source: Map, pool: AveragePool2D) -> bool:
        """Return whether an average can be computed from the sums of the fused operator that makes its input."""
        if not self._rides(source):
            return False
        return (
            isinstance(self.groups[self.made[source.name]], (Pointwise, Separable))
            and pool.kernel == source.shape[:2]
            and not any(pool.pads)
            and pool.activation == "NONE"
            and not pool.unsigned
        )

    def _look_up(self, source: Map, node: Node) -> None:
        """Add a table. It is fused as epilogue of the maker of its input, if it is the single consumer.

        Otherwise, a change of scale becomes work of the array if possible, and others become a vector pass.
        """
        epilogue = (word_operation(node),)
        if self._rides(source):
            self._extend(source, node, epilogue=epilogue)
        elif isinstance(node.operator, Requantize) and (group := factors_group(node, self.maps)):
            self._add(group)
        else:
            self._add(
                Elementwise(name=node.where, source=source, output=self.maps[node.outputs[0].name], epilogue=epilogue)
            )

    def _rides(self, source: Map) -> bool:
        """Return whether an operation can be fused as epilogue of the fused operator that makes its input."""
        return self._alone(source) and not self.groups[self.made[source.name]].epilogue

    def _combine(self, node: Node) -> None:
        """Add an operation on two operands. Two feature maps of one shape: it is fused as epilogue of the later maker
        if possible.

        Otherwise, a factor per channel becomes work of the array if possible, and others become a vector pass.
        """
        tensors = operands_of(node)
        if isinstance(node.operator, Mul) and len(tensors) == 1 and (group := factors_group(node, self.maps)):
            self._add(group)
            return
        operands = [self.maps[tensor.name] for tensor in tensors]
        places = [self.made.get(map_.name, -1) for map_ in operands]
        alike = len({map_.shape for map_ in operands}) == 1 < len(operands)
        first = max(range(len(operands)), key=places.__getitem__) if alike else 0
        ordered = first > 0 and isinstance(node.operator, Sub)
        rides = alike and not ordered and self._rides(operands[first])
        if ordered:
            first = 0
        taken, others = node.inputs.index(tensors[first]), tuple(operands[:first] + operands[first + 1 :])
        epilogue = (word_operation(node, taken),)
        if rides:
            self._extend(operands[first], node, epilogue, others)
        else:  # of maps alike the later is the source: a pass can wait for it
            output = self.maps[node.outputs[0].name]
            self._add(
                Elementwise(name=node.where, source=operands[first], output=output, others=others, epilogue=epilogue)
            )

    def finished(self) -> list[Group]:
        """Return all fused operators, named. Raise Unsupported if one is missing."""
        groups = [
            replace(group, name=f"{_NAMES.get(group.kind, group.kind)}{n}", stored=group.output.name in self.ends)
            for n, group in enumerate(self.groups)
        ]
        known = {tensor.name for tensor in self.graph.inputs}
        for group in groups:
            for operand in (group.source, *group.others):
                if operand.name not in known:
                    raise Unsupported(f"group {group.name}: no group before it makes {operand.name}")
            known.add(group.output.name)
        read = {operand.name for group in groups for operand in (group.source, *group.others)}
        made = {group.output.name for group in groups}
        if not self.ends <= made <= read | self.ends:
            raise Unsupported(f"the groups {', '.join(group.name for group in groups)} are not the whole network")
        return groups


def maps_of(graph: Graph) -> dict[str, Map]:
    """Return the feature maps of all tensors, by name. A view has the feature map of its input."""
    maps: dict[str, Map] = {}
    for node in graph.nodes:
        maps |= {tensor.name: map_of(tensor) for tensor in node.activations if tensor.name not in maps}
        for output in node.outputs:
            maps[output.name] = maps[node.inputs[0].name] if is_view(node) else map_of(output)
    return maps


def _convolution(node: Node, operator: Conv2D | FullyConnected, maps: dict[str, Map]) -> Convolution:
    """Return a convolution; a fully connected layer becomes one whose kernel is the whole map."""
    source, shape = maps[node.inputs[0].name], maps[node.inputs[0].name].shape
    if isinstance(operator, FullyConnected):
        filters, window = operator.filters.reshape(-1, *shape), Window(shape[:2])
    else:
        filters, window = _of_all_channels(operator.filters, shape[2]), window_of(operator)
    return Convolution(
        name=node.where,
        source=source,
        output=maps[node.outputs[0].name],
        window=window,
        filters=filters,
        table=_table(node, operator),
    )


def _of_all_channels(filters: np.ndarray, channels: int) -> np.ndarray:
    """Return the filters of channel groups, [M, R, S, C / G], with zeros for the other groups' channels."""
    taken = filters.shape[3]
    if taken == channels:
        return filters
    full = np.zeros((*filters.shape[:3], channels), filters.dtype)
    each = len(filters) * taken // channels  # filters of a group
    for n, values in enumerate(filters):
        first = n // each * taken
        full[n, :, :, first : first + taken] = values
    return full


def _pointwise(node: Node, operator: Weighted, maps: dict[str, Map]) -> Pointwise:
    return Pointwise(
        name=node.where,
        source=maps[node.inputs[0].name],
        output=maps[node.outputs[0].name],
        filters=_flat(operator.filters),
        table=_table(node, operator),
    )


def _depthwise(node: Node, operator: DepthwiseConv2D, maps: dict[str, Map]) -> Depthwise:
    return Depthwise(
        name=node.where,
        source=maps[node.inputs[0].name],
        output=maps[node.outputs[0].name],
        window=window_of(operator),
        depthwise=operator.filters,
        middle=_table(node, operator),
    )


def _separable(
    first: Node, depthwise: DepthwiseConv2D, last: Node, pointwise: Weighted, maps: dict[str, Map]
) -> Separable:
    return Separable(
        name=last.where,
        source=maps[first.inputs[0].name],
        output=maps[last.outputs[0].name],
        window=window_of(depthwise),
        filters=_flat(pointwise.filters),
        table=_table(last, pointwise),
        depthwise=depthwise.filters,
        middle=_table(first, depthwise),
    )


def _flat(filters: np.ndarray) -> np.ndarray:
    """Return the filters of pointwise work, [M, C]."""
    return filters.reshape(len(filters), -1)

# SPDX-License-Identifier: Apache-2.0
"""Fusion: from operators to the fused operators that the accelerator runs.

A depthwise convolution and the pointwise convolution after it become one fused operator, whose intermediate stays in
the array. An average pool over the whole map, or an elementwise operation on a result and an older feature map, is
fused as epilogue.
"""

from collections import Counter
from dataclasses import replace
from itertools import count
from math import prod

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.layer import Average, Group, Pointwise, Separable
from eyrie.compiler.ir.maps import Map, Part, map_of
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.compiler.operators.binary import Binary, operands_of
from eyrie.compiler.operators.convolution import DepthwiseConv2D
from eyrie.compiler.operators.elementwise import Mul
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.move import Movement
from eyrie.compiler.operators.moves import Block, blocks_of, copy_of
from eyrie.compiler.operators.pooling import AveragePool2D
from eyrie.compiler.operators.quantization import Requantize
from eyrie.compiler.operators.record import Record
from eyrie.compiler.operators.weights import Weighted
from eyrie.compiler.passes.channel_factors import factors_group
from eyrie.compiler.passes.constraints import is_view
from eyrie.compiler.passes.other_shapes import works_by_pixel

_NAMES = {"separable": "block"}  # other groups are named by their kind


def form_groups(graph: Graph, beat: int = 1) -> list[Group]:
    """Return the fused operators of a graph that meets all constraints (constraints.py), each after the makers of its
    inputs. beat: words of a DRAM beat

    Raise Unsupported if they do not cover the network.
    """
    forming = _Forming(graph, beat)
    for node in graph.nodes:
        if not is_view(node):
            forming.take(node)
    return forming.finished()


class _Forming:
    """The fused operators in progress, node by node.

    groups: by place, from the first to the last; made: the place of the fused operator that makes a feature map, by
    name; halves: depthwise nodes that wait for the pointwise node after them, with their operator, by output
    """

    def __init__(self, graph: Graph, beat: int = 1) -> None:
        self.graph, self.maps, self.beat = graph, maps_of(graph), beat
        nodes = [node for node in graph.nodes if not is_view(node)]
        self.readers: dict[str, list[Node]] = {}
        for node in nodes:
            for tensor in node.activations:
                self.readers.setdefault(self.maps[tensor.name].name, []).append(node)
        self.ends = {self.maps[tensor.name].name for tensor in graph.outputs}
        self.groups: dict[int, Group] = {}
        self.places = count()
        self.made: dict[str, int] = {}
        self.halves: dict[str, tuple[Node, DepthwiseConv2D]] = {}
        self.parts: dict[str, Part] = {}  # by feature map
        self.joined: set[str] = set()  # results of concatenations that no pass makes

    def take(self, node: Node) -> None:
        operator, source, maps = node.operator, self.maps[node.activations[0].name], self.maps
        if isinstance(operator, AveragePool2D) and self._averages(source, operator):
            rows, cols, _ = source.shape
            self._extend(source, node, epilogue=(Average(rows * cols),))
        elif isinstance(operator, Function):
            self._look_up(source, node, operator)
        elif isinstance(operator, Binary):
            self._combine(node, operator)
        elif isinstance(operator, DepthwiseConv2D) and self._is_half(node):
            self.halves[maps[node.outputs[0].name].name] = node, operator
        elif isinstance(operator, Weighted) and source.name in self.halves and operator.is_pointwise(node):
            self._add(_separable(*self.halves.pop(source.name), node, operator, maps))
        elif isinstance(operator, Movement) and (blocks := blocks_of(node, maps, self.ends, self.beat)):
            self._divide(node, blocks)
        else:
            assert isinstance(operator, Record)  # constraints.check
            for group in operator.groups(node, maps):
                self._add(group)

    def _add(self, group: Group) -> None:
        self.made[group.output.name] = place = next(self.places)
        self.groups[place] = group

    def _extend(
        self, result: Map, node: Node, epilogue: tuple[Average | WordOperation, ...], others: tuple[Map, ...] = ()
    ) -> None:
        """Fuse a node as epilogue of the fused operator that makes `result` and has no epilogue. It comes after
        the makers of the other operands."""
        place, output = self.made.pop(result.name), self.maps[node.outputs[0].name]
        group = replace(self.groups.pop(place), output=output, epilogue=epilogue, others=others)
        if any(self._place(other.name) > place for other in others):
            place = next(self.places)
        self.groups[place], self.made[output.name] = group, place

    def _place(self, name: str) -> int:
        """Return the place of the last fused operator that makes values of a feature map, -1 of an input."""
        if name in self.joined:
            return max(self._place(made) for made, part in self.parts.items() if part.whole.name == name)
        if name in self.parts and name not in self.made:
            return self._place(self.parts[name].whole.name)
        return self.made.get(name, -1)

    def _alone(self, map_: Map) -> bool:
        """Return whether a fused operator makes a feature map for a single consumer."""
        return map_.name in self.made and len(self.readers[map_.name]) == 1 and map_.name not in self.ends

    def _carries(self, node: Node) -> bool:
        """Return whether the only consumer of a node is an operation that its fused operator can have as epilogue."""
        behind = self.readers.get(self.maps[node.outputs[0].name].name, [])
        return len(behind) == 1 and isinstance(behind[0].operator, (Function, Binary))

    def _is_half(self, node: Node) -> bool:
        """Return whether the only consumer of a depthwise node is a pointwise node."""
        made = self.maps[node.outputs[0].name].name
        behind = self.readers.get(made, [])
        reader = behind[0].operator if len(behind) == 1 else None
        return made not in self.ends and isinstance(reader, Weighted) and reader.is_pointwise(behind[0])

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

    def _divide(self, node: Node, blocks: list[list[Block]]) -> None:
        """Make the result of a data-movement operator a part of its input, or its inputs parts of the result."""
        for tensor, of in zip(node.outputs, blocks, strict=True):
            whole = self.maps[tensor.name]
            if len(node.inputs) == 1:
                self.parts[whole.name] = Part(self.maps[node.inputs[0].name], *of[0].source)
            else:
                self._join(node, whole, of)
                self.joined.add(whole.name)

    def _join(self, node: Node, whole: Map, blocks: list[Block]) -> None:
        """Make the inputs of a data-movement operator parts of its result. Inputs that are all of a larger feature map
        bring that with them. What has a place already, or is not made by a fused operator, is copied."""
        framed = [
            self._framed(self.maps[tensor.name], block) for tensor, block in zip(node.inputs, blocks, strict=True)
        ]
        values = Counter[Part]()
        for frame, block in zip(framed, blocks):
            values[frame] += prod(block.shape)
        for n, (frame, block) in enumerate(zip(framed, blocks)):
            place = Part(whole, frame.row, frame.group, frame.column)
            if values[frame] != prod(frame.whole.shape) or not self._can_be_part(frame.whole, place, node):
                source = self.maps[node.inputs[n].name]
                self.parts[self._copied(node, source, block, f"{whole.name}#{n}").name] = Part(whole, *block.made)
            else:
                self.parts[frame.whole.name] = place

    def _framed(self, source: Map, block: Block) -> Part:
        """Return the map that a block of an input lies in, and its place in the result if all of it is there."""
        row, group, column = (made - own for made, own in zip(block.made, block.source))
        while known := self.parts.get(source.name):
            source, row, group, column = known.whole, row - known.row, group - known.group, column - known.column
        return Part(source, row, group, column)

    def _can_be_part(self, map_: Map, place: Part, node: Node) -> bool:
        """Return whether fused operators of this network make a feature map, and it has no other place. Passes read
        whole rows, so that only the node may read a map of some columns."""
        made = map_.name in self.made or map_.name in self.joined
        by_row = map_.shape[1] == place.whole.shape[1] or self.readers.get(map_.name) == [node]
        return made and by_row and map_.name not in self.ends and self.parts.get(map_.name, place) == place

    def _copied(self, node: Node, source: Map, block: Block, name: str) -> Map:
        """Add a copy of a block of a feature map."""
        if source.shape != block.shape:
            self.parts[f"{name}#source"] = Part(source, *block.source)
            source = replace(source, name=f"{name}#source", shape=block.shape)
        copied = copy_of(node.where, source, name)
        self._add(copied)
        return copied.output

    def _laid(self, map_: Map) -> Map:
        """Return a feature map with its place in the one that it is a part of."""
        part = self.parts.get(map_.name)
        return replace(map_, part=replace(part, whole=self._laid(part.whole))) if part else map_

    def _look_up(self, source: Map, node: Node, operator: Function) -> None:
        """Add a table. It is fused as epilogue of the maker of its input, if it is the single consumer.

        Otherwise, a change of scale becomes work of the array if possible, and others become a vector pass.
        """
        epilogue = (operator.word_operation(node),)
        if self._rides(source):
            self._extend(source, node, epilogue=epilogue)
        elif isinstance(operator, Requantize) and (group := factors_group(node, self.maps)):
            self._add(group)
        else:
            self._add(
                Elementwise(name=node.where, source=source, output=self.maps[node.outputs[0].name], epilogue=epilogue)
            )

    def _rides(self, source: Map) -> bool:
        """Return whether an operation can be fused as epilogue of the fused operator that makes its input."""
        return self._alone(source) and not self.groups[self.made[source.name]].epilogue

    def _combine(self, node: Node, operator: Binary) -> None:
        """Add an operation on two operands. Two feature maps of one shape, or a map and a constant per channel: it is
        fused as epilogue of the maker of a map, the later one, if possible.

        Otherwise, a factor per channel becomes work of the array if possible, and others become a vector pass. A factor
        does so, too, if another operation can be fused with this work.
        """
        tensors = operands_of(node)
        operands = [self.maps[tensor.name] for tensor in tensors]
        alike = len({map_.shape for map_ in operands}) == 1 < len(operands)
        turned = len(operands) if operator.commutes else 1  # operands that can be the first
        later = sorted(range(turned), key=lambda n: self._place(operands[n].name), reverse=True) if alike else [0]
        fits = alike or (len(operands) == 1 and works_by_pixel(node))
        riding = [n for n in later if fits and self._rides(operands[n])]
        if isinstance(operator, Mul) and len(operands) == 1 and (not riding or self._carries(node)):
            if group := factors_group(node, self.maps):
                self._add(group)
                return
        first = (riding or later)[0]
        taken, others = node.inputs.index(tensors[first]), tuple(operands[:first] + operands[first + 1 :])
        epilogue = (operator.word_operation(node, taken),)
        if riding:
            self._extend(operands[first], node, epilogue, others)
        else:  # of maps alike the later is the source: a pass can wait for it
            output = self.maps[node.outputs[0].name]
            self._add(
                Elementwise(name=node.where, source=operands[first], output=output, others=others, epilogue=epilogue)
            )

    def finished(self) -> list[Group]:
        """Return all fused operators, named. Raise Unsupported if one is missing."""
        groups = [self._finished(n, self.groups[place]) for n, place in enumerate(sorted(self.groups))]
        known = {tensor.name for tensor in self.graph.inputs} | self.joined | set(self.parts)
        for group in groups:
            for operand in group.operands:
                if operand.name not in known:
                    raise Unsupported(f"group {group.name}: no group before it makes {operand.name}")
            known.add(group.output.name)
        read = {operand.name for group in groups for operand in group.operands}
        read |= {*self.parts, *(part.whole.name for part in self.parts.values())}
        made = {map_.name for group in groups for map_ in (group.output, group.output.storage)}
        if not self.ends <= made <= read | self.ends:
            raise Unsupported(f"the groups {', '.join(group.name for group in groups)} are not the whole network")
        return groups

    def _finished(self, n: int, group: Group) -> Group:
        """Return fused operator n with its name and with the places of its feature maps."""
        output = self._laid(group.output)
        return replace(
            group,
            name=f"{_NAMES.get(group.kind, group.kind)}{n}",
            source=self._laid(group.source),
            output=output,
            others=tuple(map(self._laid, group.others)),
            stored=output.storage.name in self.ends,
        )


def maps_of(graph: Graph) -> dict[str, Map]:
    """Return the feature maps of all tensors, by name. A view has the feature map of its input."""
    maps: dict[str, Map] = {}
    for node in graph.nodes:
        maps |= {tensor.name: map_of(tensor) for tensor in node.activations if tensor.name not in maps}
        for output in node.outputs:
            maps[output.name] = maps[node.inputs[0].name] if is_view(node) else map_of(output)
    return maps


def _separable(
    first: Node, depthwise: DepthwiseConv2D, last: Node, pointwise: Weighted, maps: dict[str, Map]
) -> Separable:
    return Separable(
        name=last.where,
        source=maps[first.inputs[0].name],
        output=maps[last.outputs[0].name],
        window=depthwise.window,
        filters=pointwise.flat_filters,
        table=pointwise.layer_table(last),
        depthwise=depthwise.filters,
        middle=depthwise.layer_table(first),
    )

# SPDX-License-Identifier: Apache-2.0
"""Composition of data-movement operators.

A tensor that one of them makes, and only others read, can be left out: each reader takes the inputs of the maker by a
composed index map. This is done if the work on the accelerator does not grow (`within`). The accelerator cannot run
every composition, and some need more passes than the single operators.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.layer import Group, Pointwise
from eyrie.compiler.ir.maps import Map, map_of
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.moves import Unmovable, blocks_of, copy_of, move_groups
from eyrie.compiler.passes.constraints import is_view, of_operator
from eyrie.compiler.passes.index_maps import IndexMap, index_maps, is_move

Replaced = tuple[tuple[Node, ...], dict[Node, list[Node]]]  # moves that are left out; what others become


@dataclass(frozen=True)
class Effort:
    """The work of data-movement operators on the accelerator.

    copied   words that are written, counted twice if two words are read for one
    (second) MACs of the pointwise convolutions that permute channels
    filters  words of filters of the largest of these convolutions
    at_once  minimum words of feature maps in the GLB at once
    groups   passes
    """

    copied: int = 0
    dealt: int = 0
    filters: int = 0
    at_once: int = 0
    groups: int = 0

    def within(self, other: "Effort") -> bool:
        """Return whether no field is larger than the other's."""
        return (
            self.copied <= other.copied
            and self.dealt <= other.dealt
            and self.filters <= other.filters
            and self.at_once <= other.at_once
            and self.groups <= other.groups
        )


def effort(groups: Iterable[Group]) -> Effort:
    """Return the work of the fused operators of data-movement operators."""
    copied = dealt = filters = at_once = count = 0
    for group in groups:
        count += 1
        if isinstance(group, Elementwise):
            copied += layout(group.output).words * (1 + len(group.others))
            at_once = max(at_once, layout(group.source).words + layout(group.output).words if group.at_once else 0)
        elif isinstance(group, Pointwise):
            size = word_groups(group.source.shape[2]) * group.filters.shape[0]
            dealt += prod(group.output.shape[:2]) * size
            copied += layout(group.output).words if group.others else 0
            filters = max(filters, size)
    return Effort(copied, dealt, filters, at_once, count)


def layout(map_: Map) -> FeatureMap:
    """Return the HNC/8W8 layout."""
    rows, cols, channels = map_.shape
    return FeatureMap(rows, cols, word_groups(channels), 0, rows)


def compose_moves(graph: Graph) -> Graph:
    """Return the graph, with data-movement operators composed until no more can be left out."""
    composer = _Composer(graph)
    while composer.step():
        pass
    return composer.graph


class _Composer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._groups: dict[Node, list[Group] | None] = {}
        self._kept: set[Node] = set()  # moves whose readers do not take it over

    def step(self) -> bool:
        """Leave out the first operator that can be left out; return whether one was found."""
        readers = self.graph.readers
        for node in self.graph.nodes:
            if node in self._kept or not is_move(node):
                continue
            behind = self._behind(node, readers)
            if behind and self._waits_no_longer(node, behind):
                if found := (
                    self._composed((node,), behind) or self._chained(node, readers) or self._joined(behind[0], readers)
                ):
                    self._replace(*found)
                    return True
            self._kept.add(node)
        return False

    def _behind(self, node: Node, readers: dict[str, list[Node]]) -> list[Node]:
        """Return the readers of a data-movement operator if all are data-movement operators, else []."""
        found = list({reader: None for tensor in node.outputs for reader in readers.get(tensor.name, [])})
        ends = any(tensor.name == end.name for tensor in node.outputs for end in self.graph.outputs)
        return [] if ends or not all(map(is_move, found)) else found

    def _waits_no_longer(self, node: Node, behind: list[Node]) -> bool:
        """Return whether the tensors that wait for the readers do not grow."""
        nodes, sizes = (
            self.graph.nodes,
            [sum(tensor.size for tensor in tensors) for tensors in (node.inputs, node.outputs)],
        )
        return sizes[0] <= sizes[1] or nodes[nodes.index(node) + 1 :][: len(behind)] == tuple(behind)

    def _joined(self, reader: Node, readers: dict[str, list[Node]]) -> Replaced | None:
        """Return the composition of a reader with several makers of its inputs, all at once. It must be their only
        reader."""
        taken = {tensor.name for tensor in reader.inputs}
        makers = tuple(
            node
            for node in self.graph.nodes
            if taken & {tensor.name for tensor in node.outputs}
            and is_move(node)
            and self._behind(node, readers) == [reader]
        )
        return self._composed(makers, [reader]) if len(makers) > 1 else None

    def _composed(self, left_out: tuple[Node, ...], behind: list[Node]) -> Replaced | None:
        """Return the readers without the operators in `left_out`, None if the work of the accelerator would grow."""
        try:
            inner = {tensor.name: map_ for node in left_out for tensor, map_ in zip(node.outputs, index_maps(node))}
            found = {
                reader: [
                    _node(map_.through(inner), reader.where, output)
                    for map_, output in zip(index_maps(reader), reader.outputs, strict=True)
                ]
                for reader in behind
            }
        except Unmovable:
            return None
        before = _all([self._of(each) for each in (*left_out, *behind)])
        after = _all([self._of(each) for parts in found.values() for each in parts])
        if after is None or (before is not None and not effort(after).within(effort(before))):
            return None
        return left_out, found

    def _chained(self, node: Node, readers: dict[str, list[Node]]) -> Replaced | None:
        """Return the composition of operators that the accelerator supports only as a whole: a node and its readers, as
        far as needed. Return None if they have no such composition."""
        places = {each: n for n, each in enumerate(self.graph.nodes)}
        left_out: list[Node] = []
        found: dict[Node, list[Node]] = {}
        host, maps, waiting = False, dict[str, IndexMap](), {node}
        try:
            while waiting:
                waiting.remove(last := min(waiting, key=places.__getitem__))
                composed = [map_.through(maps) for map_ in index_maps(last)]
                made = [_node(map_, last.where, output) for map_, output in zip(composed, last.outputs, strict=True)]
                host = host or self._of(last) is None
                if left_out and host and all(self._of(each) is not None for each in made):
                    found[last] = made
                    continue
                if not (behind := self._behind(last, readers)):
                    return None
                left_out.append(last)
                maps |= zip((tensor.name for tensor in last.outputs), composed)
                waiting |= set(behind)
        except Unmovable:
            return None
        return tuple(left_out), found

    def _of(self, node: Node) -> list[Group] | None:
        """Return the fused operators of a data-movement operator, None if the accelerator does not support it."""
        if node not in self._groups:
            self._groups[node] = groups_of_move(node, self.graph)
        return self._groups[node]

    def _replace(self, left_out: tuple[Node, ...], composed: dict[Node, list[Node]]) -> None:
        nodes = [part for each in self.graph.nodes if each not in left_out for part in composed.get(each, [each])]
        self.graph = replace(self.graph, nodes=tuple(nodes))
        read = {tensor.name for parts in composed.values() for part in parts for tensor in part.inputs}
        self._kept -= {each for each in self._kept if read & {tensor.name for tensor in each.outputs}}


def _all(parts: list[list[Group] | None]) -> list[Group] | None:
    """Return the fused operators of several data-movement operators, None if the accelerator does not support one of
    them."""
    found: list[Group] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _node(map_: IndexMap, where: str, output: Tensor) -> Node:
    return Node(map_.operator, where, map_.sources, (output,))


def groups_of_move(node: Node, graph: Graph) -> list[Group] | None:
    """Return the fused operators of a data-movement operator of a graph, None if the accelerator does not support
    it."""
    if is_view(node):
        return []
    if of_operator(node, graph):
        return None
    maps = {tensor.name: map_of(tensor) for tensor in (*node.inputs, *node.outputs)}
    if not (blocks := blocks_of(node, maps, {tensor.name for tensor in graph.outputs})):
        return move_groups(node, maps)
    if len(node.inputs) == 1:
        return []
    inputs = [maps[tensor.name] for tensor in node.inputs]
    return [
        copy_of(node.where, replace(source, shape=block.shape), source.name)
        for source, block in zip(inputs, blocks[0], strict=True)
        if source.shape != block.shape
    ]

# SPDX-License-Identifier: Apache-2.0
"""Partition of a network into subgraphs for the accelerator and for the host.

A node runs on the accelerator if it meets all constraints (constraints.py). Every node has a level: the level of the
makers of its inputs, plus one if its side differs. All nodes of a level form one subgraph. This gives the minimum
number of subgraphs, and each one reads only the results of earlier ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.passes.constraints import Obstacle, check_known, is_view, of_operator, said
from eyrie.compiler.passes.index_maps import is_move
from eyrie.model.messages import number_of

_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


class Side(StrEnum):
    HOST = "host"
    ACCELERATOR = "accelerator"


@dataclass(frozen=True, eq=False)
class Part:
    """A subgraph: nodes of one side, as a network. obstacles: the reasons why the accelerator does not run the host's
    nodes"""

    side: Side
    graph: Graph
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def elements(self) -> int:
        """Return the number of element operations; for operators with weights, their MACs."""
        return sum(node.elements for node in self.graph.nodes)

    @property
    def places(self) -> str:
        """Return the places of its operators in the model."""
        nodes = self.graph.nodes
        return nodes[0].where if len(nodes) == 1 else f"{nodes[0].where} to {nodes[-1].where}"

    def __str__(self) -> str:
        nodes = self.graph.nodes
        return (
            f"{self.side:7} {self.places:14} {number_of(len(nodes), 'operator'):>13} {self.elements:13,} operations  "
            f"{', '.join(sorted({node.operator.name for node in nodes}))}"
        )


@dataclass(frozen=True)
class Partition:
    """Subgraphs in an order in which they can run."""

    parts: tuple[Part, ...]

    @property
    def outline(self) -> tuple:
        """Return the sides of the subgraphs, with the places of the host's operators."""
        return tuple((part.side, part.places if part.side == Side.HOST else "") for part in self.parts)

    @property
    def host_nodes(self) -> list[Node]:
        return [node for part in self.parts if part.side == Side.HOST for node in part.graph.nodes]

    @property
    def host_share(self) -> float:
        """Return the host's share of all element operations and MACs: 0 to 1."""
        total = sum(part.elements for part in self.parts)
        return sum(node.elements for node in self.host_nodes) / total if total else 0.0

    def __str__(self) -> str:
        """Return the list of subgraphs, the host's share, and the reasons why the host runs its operators."""
        count = sum(node.elements for node in self.host_nodes)
        share = f"host    {count:,} operations, {100 * self.host_share:.3f} % of all"
        reasons = [*said(obstacle for part in self.parts for obstacle in part.obstacles)]
        if real := sum(is_real_layer(node) for node in self.host_nodes):
            layers = "1 layer has" if real == 1 else f"{real} layers have"
            reasons.append(f"{layers} weights or values that are not int8: quantise the model (eyrie quantize-model)")
        return "\n".join([*map(str, self.parts), share, *(f"        {reason}" for reason in reasons)])


def is_real_layer(node: Node) -> bool:
    """Return whether an interpreter runs a layer with weights."""
    return isinstance(node.operator, Interpreted) and node.operator.name in _LAYERS


def partition(graph: Graph, reasons: Callable[[Node, Graph], list[str]] = of_operator) -> Partition:
    """Split a graph into subgraphs. reasons: why the accelerator does not run a node

    Raise Obstacles, with all of them, if the host cannot run a node either.
    """
    check_known(graph)
    obstacles = {
        node: tuple(Obstacle(node.operator.name, node.where, reason) for reason in reasons(node, graph))
        for node in graph.nodes
    }
    for node in _only_for_the_host(graph, obstacles):
        obstacles[node] = (Obstacle(node.operator.name, node.where, "only the host reads its result"),)
    sides = [Side.HOST if obstacles[node] else Side.ACCELERATOR for node in graph.nodes]
    levels = min((_levels(graph, sides, first) for first in Side), key=lambda levels: len(set(levels.values())))
    parts = []
    for level in sorted(set(levels.values())):
        nodes = [node for node in graph.nodes if levels[node] == level]
        working = {side for node, side in zip(graph.nodes, sides) if levels[node] == level and not is_view(node)}
        found = tuple(obstacle for node in nodes for obstacle in obstacles[node])
        parts.append(Part(working.pop() if working else Side.HOST, part_of(graph, nodes), found))
    return Partition(tuple(parts))


def _only_for_the_host(graph: Graph, obstacles: Mapping[Node, tuple[Obstacle, ...]]) -> list[Node]:
    """Return data-movement operators of the accelerator whose results only nodes of the host read: the host moves the
    values as it reads them."""
    ends, found = {tensor.name for tensor in graph.outputs}, list[Node]()
    for node in reversed(graph.nodes):
        made = [tensor.name for tensor in node.outputs]
        readers = [reader for name in made for reader in graph.readers.get(name, ())]
        on_host = all(obstacles[reader] or reader in found for reader in readers)
        if is_move(node) and not obstacles[node] and readers and on_host and not ends & set(made):
            found.append(node)
    return found


def _levels(graph: Graph, sides: list[Side], first: Side) -> dict[Node, int]:
    """Return the level of each node; nodes of level 0 run on the side `first`. A RESHAPE has the level of its input."""
    levels: dict[Node, int] = {}
    makers: dict[str, Node] = {}
    for node, side in zip(graph.nodes, sides):
        level = max((levels[makers[tensor.name]] for tensor in node.activations if tensor.name in makers), default=0)
        own = level % 2 == 0 if side == first else level % 2 == 1
        levels[node] = level if own or is_view(node) else level + 1
        makers |= {tensor.name: node for tensor in node.outputs}
    return levels


def part_of(graph: Graph, nodes: Sequence[Node]) -> Graph:
    """Return the subgraph of nodes, with its inputs and outputs."""
    made = {tensor.name: tensor for node in nodes for tensor in node.outputs}
    inside = set(nodes)
    taken = {tensor.name: tensor for node in nodes for tensor in node.activations if tensor.name not in made}
    wanted: dict[str, Tensor] = {}
    others = [tensor for node in graph.nodes if node not in inside for tensor in node.activations]
    for tensor in (*others, *graph.outputs):
        if tensor.name in made:
            wanted[tensor.name] = tensor
    return Graph(tuple(taken.values()), tuple(nodes), tuple(wanted.values()))

# SPDX-License-Identifier: Apache-2.0
"""Expansion of operators into several operations of the accelerator, with the same values."""

from collections.abc import Iterator
from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.operators.record import Record


def expand(graph: Graph) -> Graph:
    """Return the graph with the nodes of each record in place of its operator."""
    return replace(graph, nodes=tuple(part for node in graph.nodes for part in _expanded(node)))


def _expanded(node: Node) -> Iterator[Node]:
    """Yield the nodes in place of a node. If these are several, each of them is expanded, too."""
    parts = node.operator.expanded(node) if isinstance(node.operator, Record) else (node,)
    for part in parts:
        yield from _expanded(part) if len(parts) > 1 else parts

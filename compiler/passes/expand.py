# SPDX-License-Identifier: Apache-2.0
"""Expansion of operators into several operations of the accelerator, with the same values."""

from dataclasses import replace

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.operators.record import Record


def expand(graph: Graph) -> Graph:
    """Return the graph with the nodes of each record in place of its operator."""
    nodes = (node.operator.expanded(node) if isinstance(node.operator, Record) else (node,) for node in graph.nodes)
    return replace(graph, nodes=tuple(part for parts in nodes for part in parts))

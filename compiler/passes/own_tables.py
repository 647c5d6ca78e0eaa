# SPDX-License-Identifier: Apache-2.0
"""Functions of one value for which a back end has no code become tables."""

from collections.abc import Callable
from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operators.operator import Operator, quantizations
from eyrie.compiler.ir.operators.tables import Function, Lookup


def own_tables(graph: Graph, known: Callable[[Operator], bool]) -> Graph:
    """Return the graph with tables in place of functions without code. known: whether the back end has code for an
    operator"""

    def made(node: Node) -> Node:
        operator = node.operator
        if not isinstance(operator, Function) or known(operator):
            return node
        entries = operator.table(*quantizations(*node.inputs, *node.outputs))
        return replace(node, operator=Lookup(entries=entries, unsigned=operator.unsigned))

    return replace(graph, nodes=tuple(map(made, graph.nodes)))

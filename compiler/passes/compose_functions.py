# SPDX-License-Identifier: Apache-2.0
"""Composition of functions of one value: successive functions become one table.

An operation with a uniform constant is such a function. A table is fused as epilogue of the operator before it, which
an operation with a constant is not.
"""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Constant
from eyrie.compiler.operators.binary import is_uniform
from eyrie.compiler.operators.lookup import Function, Lookup
from eyrie.model.operators import tables


def compose_functions(graph: Graph) -> Graph:
    """Return the graph with successive functions composed, if no other operator reads the values between them."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    nodes: dict[str, Node] = {}  # by the first tensor that they make
    for node in graph.nodes:
        if is_uniform(node):
            node = _lookup(node, node, _entries(node))
        if isinstance(node.operator, Function):
            source = node.inputs[0].name
            before = nodes.get(source)
            if before and isinstance(before.operator, Function) and source not in ends and len(readers[source]) == 1:
                del nodes[source]
                node = _lookup(before, node, tables.apply(_entries(node), _entries(before)))
        nodes[node.outputs[0].name] = node
    return replace(graph, nodes=tuple(nodes.values()))


def _entries(node: Node) -> np.ndarray:
    """Return the table of a node by the golden model, int8 [256], as `Function.table` does."""
    values = tables.VALUES.astype(np.int8)
    (entries,) = node.run(
        tuple(tensor.data.reshape(-1)[:1] if isinstance(tensor, Constant) else values for tensor in node.inputs)
    )
    return entries


def _lookup(first: Node, last: Node, entries: np.ndarray) -> Node:
    """Return the node that maps the input of `first` to the output of `last` by one table."""
    return replace(last, operator=Lookup(entries=entries), inputs=first.activations)

# SPDX-License-Identifier: Apache-2.0
"""Composition of functions of one value: successive functions become one table.

An operation with a uniform constant is such a function, and so is one of two functions of the same values: swish, a
value times its LOGISTIC, is one table. A table is fused as epilogue of the operator before it, which an operation is
not.
"""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Constant, Tensor
from eyrie.compiler.operators.binary import Binary, is_uniform
from eyrie.compiler.operators.lookup import Function, Lookup
from eyrie.model.operators import tables


def compose_functions(graph: Graph) -> Graph:
    """Return the graph with functions of one value composed."""
    return _chained(_joined(_chained(graph)))


def _chained(graph: Graph) -> Graph:
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


def _joined(graph: Graph) -> Graph:
    """Return the graph with a table in place of each operation on two functions of the same values."""
    functions = {node.outputs[0].name: node for node in graph.nodes if isinstance(node.operator, Function)}
    nodes = [_of_one_value(node, functions) for node in graph.nodes]
    needed = {tensor.name for tensor in graph.outputs} | {each.name for node in nodes for each in node.activations}
    left = (node for node in nodes if node.outputs[0].name in needed or not isinstance(node.operator, Function))
    return replace(graph, nodes=tuple(left))


def _of_one_value(node: Node, functions: dict[str, Node]) -> Node:
    """Return the table of an operation on two functions of the same values; other nodes as they are. functions: by
    their outputs"""
    if not isinstance(node.operator, Binary) or len(node.activations) != 2 or node.outputs[0].dtype != "int8":
        return node
    first, second = (_sources(operand, functions) for operand in node.activations)
    for name, (source, entries) in first.items():
        if name in second and source.shape == node.outputs[0].shape:
            (joined,) = node.run((entries, second[name][1]))
            return replace(node, operator=Lookup(entries=joined), inputs=(source,))
    return node


def _sources(operand: Tensor, functions: dict[str, Node]) -> dict[str, tuple[Tensor, np.ndarray]]:
    """Return the tensors of whose values an operand is a function, by name, with the function: it, and its source."""
    found = {operand.name: (operand, tables.VALUES.astype(np.int8))}
    if function := functions.get(operand.name):
        found |= {source.name: (source, _entries(function)) for source in function.activations}
    return found


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

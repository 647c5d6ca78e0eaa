# SPDX-License-Identifier: Apache-2.0
"""Operators that work on tensors of other shapes, whose values have the same order."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.binary import Binary
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.shapes import Reshape


def with_other_shapes(
    graph: Graph,
    changes: Callable[[Node], bool],
    shaped: Callable[[Tensor], Tensor | None],
    operator: Callable[[Operator], Operator],
    ends: Mapping[str, Tensor],
) -> Graph:
    """Return the graph in which the nodes that change work on other shapes, with RESHAPEs at the borders to the rest.

    changes(node): whether it does; shaped(tensor): in its other shape, None: it stays; operator(operator): for the
    other shapes; ends: inputs and outputs of the network in their other shape, which they keep
    """
    others, nodes = dict(ends), list[Node]()  # by the name of the tensor
    for node in graph.nodes:
        if not changes(node):
            nodes.append(node)
            continue
        for tensor in node.activations:
            if tensor.name not in others and (other := shaped(tensor)):
                others[tensor.name] = other
                nodes.append(_reshape(node, tensor, other))
        (made,) = node.outputs
        taken = tuple(others.get(tensor.name, tensor) for tensor in node.inputs)
        is_end = made.name in ends
        if not is_end and (other := shaped(made)):
            others[made.name] = other
        result = others.get(made.name, made)
        nodes.append(replace(node, operator=operator(node.operator), inputs=taken, outputs=(result,)))
        if result is not made and not is_end:
            nodes.append(_reshape(node, result, made))
    inputs, outputs = (
        tuple(ends.get(each.name, each) for each in tensors) for tensors in (graph.inputs, graph.outputs)
    )
    return replace(graph, inputs=inputs, outputs=outputs, nodes=tuple(nodes))


def works_by_pixel(node: Node) -> bool:
    """Return whether a node is a function of each pixel, or of two pixels of one place, or of a pixel and constants."""
    if not isinstance(node.operator, Binary):
        return isinstance(node.operator, Function)
    return all(
        tensor.shape == node.outputs[0].shape
        if tensor in node.activations
        else tensor.size == 1 or tensor.size == tensor.shape[-1]
        for tensor in node.inputs
    )


def _reshape(node: Node, source: Tensor, made: Tensor) -> Node:
    return Node(Reshape(to=made.shape), node.where, (source,), (made,))

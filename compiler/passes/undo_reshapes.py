# SPDX-License-Identifier: Apache-2.0
"""Operations between a RESHAPE and one back work on the shape in front of both.

Sub-spectral normalisation scales bands of channels: 1 x 1 x 32 becomes 1 x 8 x 4 for its constants, and comes back.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Constant, Tensor
from eyrie.compiler.operators.binary import Binary
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.shapes import Reshape

Shape = tuple[int, ...]


def undo_reshapes(graph: Graph) -> Graph:
    """Return the graph in which such RESHAPEs keep the shape, as far as constants have a value per channel of it."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    shapes: dict[str, Shape] = {}  # of tensors between them, by name
    for node in graph.nodes:
        if isinstance(node.operator, Reshape) and node.outputs[0].name not in shapes:
            shapes |= _between(node, readers, ends)
    return replace(graph, nodes=tuple(_reshaped(node, shapes) for node in graph.nodes)) if shapes else graph


def _between(first: Node, readers: Mapping[str, list[Node]], ends: set[str]) -> dict[str, Shape]:
    """Return the shape of each tensor between a RESHAPE and one back; empty if the second one is missing."""
    shape, tensor, found = first.inputs[0].shape, first.outputs[0], dict[str, Shape]()
    while tensor.name not in ends and len(readers.get(tensor.name, ())) == 1:
        [reader] = readers[tensor.name]
        found[tensor.name] = shape
        if isinstance(reader.operator, Reshape):
            return found if reader.outputs[0].shape == shape and len(found) > 1 else {}
        if not _is_by_channel(reader, shape):
            return {}
        [tensor] = reader.outputs
    return {}


def _is_by_channel(node: Node, shape: Shape) -> bool:
    """Return whether a node is, in another shape, a function of each value, or of it and a constant of its channel."""
    if isinstance(node.operator, Function):
        return True
    if not isinstance(node.operator, Binary):
        return False
    [made] = node.outputs
    if [tensor.shape for tensor in node.activations] != [made.shape]:
        return False
    constants = (tensor for tensor in node.inputs if isinstance(tensor, Constant))
    return bool(shape) and all(_by_channel(tensor, made, shape) is not None for tensor in constants)


def _by_channel(constant: Constant, made: Tensor, shape: Shape) -> Constant | None:
    """Return an operand of the maker of a tensor for this shape of the tensor; None if a channel has several values."""
    values = np.broadcast_to(constant.data, made.shape).reshape(-1, shape[-1])
    if not values.size or (values != values[0]).any():
        return None
    return replace(constant, name=f"{made.name}#{constant.name}", shape=shape[-1:], data=values[0])


def _reshaped(node: Node, shapes: Mapping[str, Shape]) -> Node:
    """Return a node with its tensors in these shapes."""

    def other(tensor: Tensor) -> Tensor:
        return replace(tensor, shape=shapes[tensor.name]) if tensor.name in shapes else tensor

    inputs = [other(tensor) for tensor in node.inputs]
    if all(tensor.name not in shapes for tensor in node.outputs):
        return replace(node, inputs=tuple(inputs))
    [made] = node.outputs
    shape = shapes[made.name]
    if isinstance(node.operator, Reshape):
        return replace(node, operator=Reshape(to=shape), outputs=(other(made),))
    inputs = [_by_channel(each, made, shape) or each if isinstance(each, Constant) else each for each in inputs]
    return replace(node, inputs=tuple(inputs), outputs=(other(made),))

# SPDX-License-Identifier: Apache-2.0
"""Tensors of several images become maps of one for operators that work on each pixel by itself.

A transformer has the positions of a sequence, or windows, along the first axis.
"""

from dataclasses import replace
from math import prod

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator, axis_of
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.binary import Binary
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.interpreted import InterpretedFunction
from eyrie.compiler.operators.lookup import Lookup
from eyrie.compiler.operators.mean import Mean
from eyrie.compiler.passes.other_shapes import with_other_shapes, works_by_pixel

MOST_COLUMNS = 64  # of a map
LEAST_COLUMNS = 8  # that keep the PEs of a row at work: fewer become one row


def stack_images(graph: Graph) -> Graph:
    """Return the graph whose operators on each pixel work on maps of one image, with RESHAPEs at the borders to other
    operators; without layers among them, the host is as fast."""
    layers = (node for node in graph.nodes if isinstance(node.operator, FullyConnected))
    return with_other_shapes(graph, _stacks, _stacked, _kept, {}) if any(map(_stacks, layers)) else graph


def _stacks(node: Node) -> bool:
    """Return whether a node works on each pixel of several images by itself."""
    operator, tensors = node.operator, (*node.activations, *node.outputs)
    if not node.activations or any(len(tensor.shape) < 2 or not tensor.size for tensor in tensors):
        return False
    if all(tensor.shape[0] == 1 for tensor in tensors):
        return False
    if isinstance(operator, FullyConnected):
        return operator.filters.shape[1] == node.inputs[0].shape[-1]
    if isinstance(operator, Mean):
        rank = len(node.inputs[0].shape)
        return operator.keep_axes and {axis_of(axis, rank) for axis in operator.axes} == {rank - 1}
    return (
        (isinstance(operator, InterpretedFunction) and bool(operator.entries.size))
        or works_by_pixel(node)
        or _scales_pixels(node)
    )


def _scales_pixels(node: Node) -> bool:
    """Return whether a node combines each pixel with another one of its channels or of one channel."""
    made = node.outputs[0].shape
    return isinstance(node.operator, Binary) and all(
        tensor in node.activations and tensor.shape[:-1] == made[:-1] and tensor.shape[-1] in (1, made[-1])
        for tensor in node.inputs
    )


def _stacked(tensor: Tensor) -> Tensor:
    """Return a tensor of two axes or more as a map of all its pixels."""
    *outer, channels = tensor.shape
    pixels = prod(outer)
    columns = max(count for count in range(1, MOST_COLUMNS + 1) if pixels % count == 0)
    if columns < LEAST_COLUMNS:
        columns = pixels
    return replace(tensor, name=f"{tensor.name}#stacked", shape=(1, pixels // columns, columns, channels))


def _kept(operator: Operator) -> Operator:
    """Return an operator that keeps the axes of its input."""
    if isinstance(operator, InterpretedFunction):
        return Lookup(entries=operator.entries)
    if isinstance(operator, Mean):
        return replace(operator, axes=(-1,))
    return replace(operator, keep_axes=True) if isinstance(operator, FullyConnected) else operator

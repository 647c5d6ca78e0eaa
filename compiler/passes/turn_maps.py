# SPDX-License-Identifier: Apache-2.0
"""Feature maps of one column become maps of one row, with H and W swapped; the order of values stays.

PEs take pixels along a row, and a row of the GLB begins at an even word, so that half of the words of a column would be
unused. Sound and sensor data often have such feature maps.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator, axis_of
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import DepthwiseConv2D, Windowed
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.joins import Concatenation
from eyrie.compiler.operators.parts import Slice, StridedSlice
from eyrie.compiler.operators.pooling import Pool
from eyrie.compiler.passes.other_shapes import with_other_shapes, works_by_pixel


def turn_maps(graph: Graph, shared: Collection[str] = ()) -> Graph:
    """Return the graph whose operators on maps of one column work on rows, with RESHAPEs at the borders to other
    operators. Inputs and outputs become rows, too, whose values have the same order: not those that other operators
    read or make, those that another program shares (`shared`: names), and outputs that an operator reads, which stay in
    the GLB for it."""
    others = {tensor.name for node in graph.nodes if not _turns(node) for tensor in (*node.inputs, *node.outputs)}
    read = {tensor.name for node in graph.nodes for tensor in node.inputs}
    columns = others | {*shared} | {tensor.name for tensor in graph.outputs if tensor.name in read}
    turned = [each for each in (*graph.inputs, *graph.outputs) if _is_column(each) and each.name not in columns]
    ends = {tensor.name: replace(_row(tensor), name=tensor.name) for tensor in turned}
    return with_other_shapes(graph, _turns, lambda tensor: _row(tensor) if _is_column(tensor) else None, _turned, ends)


def has_columns(graph: Graph) -> bool:
    """Return whether `turn_maps` changes a network."""
    return any(map(_turns, graph.nodes))


def _is_column(tensor: Tensor) -> bool:
    return _is_narrow(tensor) and tensor.shape[1] > 1


def _is_narrow(tensor: Tensor) -> bool:
    """Return whether a tensor is a column or a pixel."""
    return len(tensor.shape) == 4 and tensor.shape[2] == 1


def _turns(node: Node) -> bool:
    """Return whether a node reads only columns, and makes a column, one pixel, or vectors."""
    columns, operator, made = node.activations, node.operator, node.outputs[0]
    if isinstance(operator, Concatenation):
        return (
            all(map(_is_narrow, (*columns, made)))
            and axis_of(operator.axis, 4) == 1
            and len(columns) == len(node.inputs)
        )
    if not columns or not all(map(_is_column, columns)):
        return False
    if isinstance(operator, (Slice, StridedSlice)):
        return _is_narrow(made) and not (isinstance(operator, StridedSlice) and operator.changes_rank)
    if isinstance(operator, (Windowed, Pool)):
        return made.shape[2] == 1
    return works_by_pixel(node) or (isinstance(operator, FullyConnected) and not operator.keep_axes)


def _turned(operator: Operator) -> Operator:
    """Return an operator for a map with H and W swapped."""
    if isinstance(operator, Concatenation):
        return replace(operator, axis=2)
    if isinstance(operator, (Slice, StridedSlice)):
        return operator.with_axes((0, 2, 1, 3))
    if not isinstance(operator, (Windowed, Pool)):
        return operator
    (top, bottom, left, right), stride = operator.pads, operator.stride[::-1]
    pads = left, right, top, bottom
    if isinstance(operator, Pool):
        return replace(operator, kernel=operator.kernel[::-1], stride=stride, pads=pads)
    first = 0 if isinstance(operator, DepthwiseConv2D) else 1
    filters = np.ascontiguousarray(operator.filters.swapaxes(first, first + 1))
    return replace(operator, filters=filters, dilation=operator.dilation[::-1], stride=stride, pads=pads)


def _row(column: Tensor) -> Tensor:
    batch, height, width, channels = column.shape
    return replace(column, name=f"{column.name}#row", shape=(batch, width, height, channels))

# SPDX-License-Identifier: Apache-2.0
"""Operators as loop nests: loops over output rows, columns and filters, and over input channels.

A nest tells which region of each operand a tile reads or writes, and computes the tile.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from eyrie.compiler.ir.buffer_tree import Role, Work
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Constant
from eyrie.compiler.ir.window import Window
from eyrie.compiler.operators.binary import Binary
from eyrie.compiler.operators.convolution import Conv2D, DepthwiseConv2D, Windowed
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.pooling import Pool
from eyrie.compiler.operators.weights import Weighted
from eyrie.model.operators.convolution import accumulate, conv2d_sums, depthwise_conv2d_sums, fold_zero_point
from eyrie.model.operators.quantization import Requantization, requantize

Sizes = tuple[int, int, int, int]  # rows, columns, filters, channels
Shape = tuple[int, int, int]  # of a map
Range = tuple[int, int]  # first and last + 1
Tile = tuple[Range, Range, Range, Range]
Region = tuple[Range, ...]  # of an operand, axis by axis
ROWS, COLUMNS, FILTERS, CHANNELS = range(4)
INT8, INT32 = np.dtype(np.int8), np.dtype(np.int32)
ENTRIES = 3  # of a filter's row in the table: bias, multiplier, shift


@dataclass(frozen=True)
class Operand:
    """An operand of a nest. shape: as tiles see it; loops: the loops over which its region changes"""

    shape: tuple[int, ...]
    dtype: np.dtype
    loops: tuple[int, ...]


class Nest:
    """A node as loops over rows, columns, filters and channels. Feature maps are [H, W, C]."""

    def __init__(self, node: Node, work: Work, sizes: Sizes, window: Window = Window(), multiplier: int = 1) -> None:
        """Make the nest of a node. multiplier: outputs per channel, if the operator does not mix channels"""
        self.node, self.work, self.sizes, self.window, self.multiplier = node, work, sizes, window, multiplier
        self.operands: dict[Role, Operand] = {Role.OUTPUT: Operand(sizes[:CHANNELS], INT8, (ROWS, COLUMNS, FILTERS))}

    @property
    def tile(self) -> Tile:
        """Return the tile that is the whole output."""
        rows, columns, filters, channels = self.sizes
        return (0, rows), (0, columns), (0, filters), (0, channels)

    def region(self, role: Role, tile: Tile) -> Region:
        """Return the region of an operand that a tile reads or writes: a product of ranges. A range is empty if all of
        it is padding."""
        if role is not Role.INPUT:
            return tile[:CHANNELS]
        axes = zip(tile, self.window.stride, self.window.pads[::2], self.window.span, self.operands[role].shape)
        return *(_taken(*axis) for axis in axes), self._channels(tile)

    def largest(self, role: Role, sizes: Sizes) -> int:
        """Return the largest number of bytes of an operand that a tile of these sizes needs."""
        return prod(self._largest(role, sizes)) * self.operands[role].dtype.itemsize

    def arrays(self, values: Mapping[str, np.ndarray]) -> dict[Role, np.ndarray]:
        """Return the operands that come from DRAM. values: of the tensors that are not constants, by name"""
        given = [tensor.data if isinstance(tensor, Constant) else values[tensor.name] for tensor in self.node.inputs]
        return {role: array.reshape(self.operands[role].shape) for role, array in zip((Role.INPUT, Role.OTHER), given)}

    def sums(self, tile: Tile, values: Mapping[Role, np.ndarray]) -> np.ndarray:
        """Return the int32 of a tile's channels; values: regions of the operands."""
        raise NotImplementedError

    def result(self, tile: Tile, values: Mapping[Role, np.ndarray]) -> np.ndarray:
        """Return int8, the output's region. values: the sums of all channels, or the operands if the operator has no
        sums"""
        raise NotImplementedError

    def _channels(self, tile: Tile) -> Range:
        first, last = tile[FILTERS]
        return first // self.multiplier, (last - 1) // self.multiplier + 1

    def _largest(self, role: Role, sizes: Sizes) -> tuple[int, ...]:
        if role is not Role.INPUT:
            return sizes[:CHANNELS]
        shape = self.operands[role].shape
        axes = zip(sizes, self.window.stride, self.window.span, shape)
        channels = min(shape[2], (sizes[FILTERS] + self.multiplier - 2) // self.multiplier + 1)
        return *(min(size, (count - 1) * stride + span) for count, stride, span, size in axes), channels

    def _pads(self, tile: Tile) -> tuple[int, int, int, int]:
        """Return the top, bottom, left, right of the input's region."""
        found = []
        shape, window = self.operands[Role.INPUT].shape, self.window
        for of, stride, pad, span, size in zip(tile, window.stride, window.pads[::2], window.span, shape):
            first, last = _taken(of, stride, pad, span, size)
            whole = (of[1] - of[0] - 1) * stride + span
            before = min(whole, max(0, pad - of[0] * stride))
            found += [before, whole - (last - first) - before]
        top, bottom, left, right = found
        return top, bottom, left, right


class _Weighted(Nest):
    """A nest that sums products and rescales the sums. source: [H, W, C] of the input"""

    def __init__(
        self,
        node: Node,
        operator: Weighted,
        parameters: Requantization,
        work: Work,
        sizes: Sizes,
        source: tuple[int, ...],
        filters: np.ndarray,
    ) -> None:
        window = operator.window if isinstance(operator, Windowed) else Window()
        super().__init__(node, work, sizes, window, sizes[FILTERS] // source[2] if work is Work.DEPTHWISE else 1)
        self._filters, self._zero_point = filters, quantized(node.inputs[0]).zero_point
        self._bias, self._parameters = operator.bias, parameters
        mixed = work is Work.CONVOLUTION
        self.operands |= {
            Role.INPUT: Operand(source, INT8, (ROWS, COLUMNS, CHANNELS if mixed else FILTERS)),
            Role.FILTERS: Operand(filters.shape, filters.dtype, (FILTERS, CHANNELS) if mixed else (FILTERS,)),
            Role.TABLE: Operand((sizes[FILTERS], ENTRIES), INT32, (FILTERS,)),
            Role.SUMS: Operand(sizes[:CHANNELS], INT32, (ROWS, COLUMNS, FILTERS)),
        }

    def region(self, role: Role, tile: Tile) -> Region:
        if role is Role.TABLE:
            return tile[FILTERS], (0, ENTRIES)
        if role is Role.FILTERS:
            taps = [(0, size) for size in self.window.kernel]
            mixed = self.work is Work.CONVOLUTION
            return (tile[FILTERS], *taps, tile[CHANNELS]) if mixed else (*taps, tile[FILTERS])
        return super().region(role, tile)

    def arrays(self, values: Mapping[str, np.ndarray]) -> dict[Role, np.ndarray]:
        axis = 0 if self.work is Work.CONVOLUTION else -1
        bias = fold_zero_point(self._bias, self._filters, self._zero_point, axis)
        columns = np.broadcast_arrays(
            accumulate(np.zeros_like(bias), bias), self._parameters.multiplier, self._parameters.shift
        )
        return super().arrays(values) | {Role.FILTERS: self._filters, Role.TABLE: np.stack(columns, -1).astype(INT32)}

    def sums(self, tile: Tile, values: Mapping[Role, np.ndarray]) -> np.ndarray:
        source, window = values[Role.INPUT], self.window
        how = window.stride, self._pads(tile), self._zero_point, window.dilation
        if self.work is Work.CONVOLUTION:
            return conv2d_sums(source, values[Role.FILTERS], *how)
        first = tile[FILTERS][0]
        own = np.arange(*tile[FILTERS]) // self.multiplier - first // self.multiplier
        return depthwise_conv2d_sums(source[..., own], values[Role.FILTERS], *how)

    def result(self, tile: Tile, values: Mapping[Role, np.ndarray]) -> np.ndarray:
        bias, multiplier, shift = values[Role.TABLE].T
        return requantize(
            accumulate(values[Role.SUMS], bias), replace(self._parameters, multiplier=multiplier, shift=shift)
        )

    def _channels(self, tile: Tile) -> Range:
        return tile[CHANNELS] if self.work is Work.CONVOLUTION else super()._channels(tile)

    def _largest(self, role: Role, sizes: Sizes) -> tuple[int, ...]:
        if role is Role.TABLE:
            return sizes[FILTERS], ENTRIES
        if role is Role.FILTERS:
            return self.window.taps, sizes[FILTERS], sizes[CHANNELS]
        found = super()._largest(role, sizes)
        return (*found[:2], sizes[CHANNELS]) if role is Role.INPUT and self.work is Work.CONVOLUTION else found


class _Pooled(Nest):
    def __init__(self, node: Node, operator: Pool) -> None:
        rows, columns, channels = node.outputs[0].shape[1:]
        super().__init__(node, Work.POOL, (rows, columns, channels, 1), operator.window)
        self._operator = operator
        self.operands[Role.INPUT] = Operand(node.inputs[0].shape[1:], INT8, (ROWS, COLUMNS, FILTERS))

    def result(self, tile: Tile, values: Mapping[Role, np.ndarray]) -> np.ndarray:
        operator = replace(self._operator, pads=self._pads(tile))
        return operator.run((values[Role.INPUT],), self.node.inputs, self.node.outputs)[0]


class _Valued(Nest):
    """An elementwise nest. An axis of size 1 of an input is broadcast."""

    def __init__(self, node: Node, output: Shape, inputs: list[Shape]) -> None:
        super().__init__(node, Work.ELEMENTWISE, (*output, 1))
        for role, shape in zip((Role.INPUT, Role.OTHER), inputs):
            loops = tuple(loop for loop, size in enumerate(shape) if size == self.sizes[loop])
            self.operands[role] = Operand(shape, INT8, loops)

    def region(self, role: Role, tile: Tile) -> Region:
        loops = self.operands[role].loops
        return tuple(of if loop in loops else (0, 1) for loop, of in enumerate(tile[:CHANNELS]))

    def result(self, tile: Tile, values: Mapping[Role, np.ndarray]) -> np.ndarray:
        given = tuple(values[role] for role in (Role.INPUT, Role.OTHER) if role in values)
        return self.node.operator.run(given, self.node.inputs, self.node.outputs)[0]

    def _largest(self, role: Role, sizes: Sizes) -> tuple[int, ...]:
        loops = self.operands[role].loops
        return tuple(size if loop in loops else 1 for loop, size in enumerate(sizes[:CHANNELS]))


def nest_of(node: Node) -> Nest | None:
    """Return the nest of a node, None if the node has no nest or works on several images."""
    operator = node.operator
    if isinstance(operator, FullyConnected):
        return _fully_connected(node, operator)
    if any(tensor.dtype != "int8" for tensor in (*node.inputs, *node.outputs)):
        return None
    if isinstance(operator, (Binary, Function)):
        output, *inputs = [_map(tensor.shape) for tensor in (*node.outputs, *node.inputs)]
        known = [shape for shape in inputs if shape]
        return _Valued(node, output, known) if output and len(known) == len(inputs) else None
    if not isinstance(operator, (Windowed, Pool)) or node.inputs[0].shape[0] > 1:
        return None
    if isinstance(operator, Pool):
        return _Pooled(node, operator)
    return _convolution(node, operator)


def _fully_connected(node: Node, operator: FullyConnected) -> Nest | None:
    parameters = operator.fixed_point(node.inputs, node.outputs)
    if parameters is None:
        return None
    outputs, inputs = operator.filters.shape
    sizes = node.outputs[0].size // outputs, 1, outputs, inputs
    filters, source = operator.filters[:, None, None], (sizes[ROWS], 1, inputs)
    return _Weighted(node, operator, parameters, Work.CONVOLUTION, sizes, source, filters)


def _convolution(node: Node, operator: Windowed) -> Nest | None:
    (rows, columns, outputs), source = node.outputs[0].shape[1:], node.inputs[0].shape[1:]
    parameters = operator.requantization(node.inputs, node.outputs)
    if isinstance(operator, DepthwiseConv2D):
        return _Weighted(
            node, operator, parameters, Work.DEPTHWISE, (rows, columns, outputs, 1), source, operator.filters
        )
    if isinstance(operator, Conv2D) and operator.filters.shape[3] == source[2]:
        sizes = rows, columns, outputs, source[2]
        return _Weighted(node, operator, parameters, Work.CONVOLUTION, sizes, source, operator.filters)
    return None


def _map(shape: tuple[int, ...]) -> Shape | None:
    """Return the last three axes, None if another axis is larger than 1."""
    rows, columns, channels = (1, 1, 1, *shape)[-3:]
    return (rows, columns, channels) if prod(shape) == rows * columns * channels else None


def _taken(of: Range, stride: int, pad: int, span: int, size: int) -> Range:
    """Return the range of an input axis that outputs read, without padding."""
    first = min(size, max(0, of[0] * stride - pad))
    return first, max(first, min(size, (of[1] - 1) * stride - pad + span))

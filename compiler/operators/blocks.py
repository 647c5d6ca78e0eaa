# SPDX-License-Identifier: Apache-2.0
"""DEPTH_TO_SPACE and SPACE_TO_DEPTH: channels become blocks of neighbouring pixels, and back."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.kernel_calls.axes import dense
from eyrie.compiler.kernel_calls.copies import copy_values
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.move import Move
from eyrie.compiler.operators.record import MOVE, Row
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import movement

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall

Shape = tuple[int, ...]
_ORDER = (0, 1, 3, 2, 4, 5)  # of the axes of `parts` in the result


def _onnx_depth_to_space(call: "OnnxCall") -> list[Operation]:
    (batch, channels, rows, columns), by = call.shape(0), call.whole("blocksize")
    left = channels // by**2
    if call.text("mode", "DCR") == "DCR":
        parts, axes = (batch, by, by, left, rows, columns), (0, 3, 4, 1, 5, 2)
    else:
        parts, axes = (batch, left, by, by, rows, columns), (0, 1, 4, 2, 5, 3)
    return _turned(call, parts, axes, (batch, left, rows * by, columns * by))


def _onnx_space_to_depth(call: "OnnxCall") -> list[Operation]:
    (batch, channels, rows, columns), by = call.shape(0), call.whole("blocksize")
    parts = batch, channels, rows // by, by, columns // by, by
    return _turned(call, parts, (0, 3, 5, 1, 2, 4), (batch, channels * by**2, rows // by, columns // by))


def _turned(call: "OnnxCall", parts: Shape, axes: Shape, to: Shape) -> list[Operation]:
    taken, turned = call.inner("parts"), call.inner("turned")
    return [
        call.make("reshape", None, (taken,), shape=parts),
        call.make("transpose", (taken,), (turned,), axes=axes),
        call.make("reshape", (turned,), shape=to),
    ]


@dataclass(frozen=True, kw_only=True)
class _Blocks(Move):
    """block: rows and columns of a block"""

    row: ClassVar[Row] = Row("blocks of pixels", MOVE)
    schema_options = {"block": "blockSize"}

    block: int

    @abstractmethod
    def parts(self, source: Shape) -> Shape:
        """Return the source's shape with axes of its own for blocks."""

    def checked(self, source: Shape) -> Shape:
        if len(source) != 4 or self.block < 1 or self.is_ragged(source):
            raise InputError(f"blocks of {self.block} x {self.block} of a tensor of {times(source)}")
        return source

    @abstractmethod
    def is_ragged(self, source: Shape) -> bool:
        """Return whether the source does not consist of whole blocks."""

    def move(self, values: np.ndarray) -> np.ndarray:
        made = movement.transpose(movement.reshape(values, self.parts(values.shape)), _ORDER)
        return movement.reshape(made, self.shape(values.shape))

    def to_c(self, node: Node, calls: Calls) -> None:
        source, parts = node.inputs[0], self.parts(node.inputs[0].shape)
        sizes, steps = (tuple(each[axis] for axis in _ORDER) for each in (parts, dense(parts)))
        copy_values(node, calls, source, node.outputs[0], sizes, steps)


@dataclass(frozen=True, kw_only=True)
class DepthToSpace(_Blocks):
    """DEPTH_TO_SPACE."""

    name = "DEPTH_TO_SPACE"
    version = 1
    onnx = {"DepthToSpace": _onnx_depth_to_space}

    def parts(self, source: Shape) -> Shape:
        batch, rows, columns, channels = source
        return batch, rows, columns, self.block, self.block, channels // self.block**2

    def is_ragged(self, source: Shape) -> bool:
        return source[3] % self.block**2 > 0

    def shape(self, source: Shape) -> Shape:
        batch, rows, columns, channels = self.checked(source)
        return batch, rows * self.block, columns * self.block, channels // self.block**2


@dataclass(frozen=True, kw_only=True)
class SpaceToDepth(_Blocks):
    """SPACE_TO_DEPTH."""

    name = "SPACE_TO_DEPTH"
    onnx = {"SpaceToDepth": _onnx_space_to_depth}

    def parts(self, source: Shape) -> Shape:
        batch, rows, columns, channels = source
        return batch, rows // self.block, self.block, columns // self.block, self.block, channels

    def is_ragged(self, source: Shape) -> bool:
        return any(size % self.block for size in source[1:3])

    def shape(self, source: Shape) -> Shape:
        batch, rows, columns, channels = self.checked(source)
        return batch, rows // self.block, columns // self.block, channels * self.block**2

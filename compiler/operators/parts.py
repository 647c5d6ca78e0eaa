# SPDX-License-Identifier: Apache-2.0
"""TILE, SLICE and STRIDED_SLICE."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.kernel_calls.axes import dense
from eyrie.compiler.kernel_calls.copies import copy_slices, copy_values
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.folding import inner, stored
from eyrie.compiler.operators.move import Move
from eyrie.compiler.operators.record import MOVE, Row, Shape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import movement

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

ROW = Row("parts and joins", MOVE)


def _places(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a shape that takes no memory. Raise InputError if no array has such a shape."""
    return np.broadcast_to(np.int8(0), shape)


@dataclass(frozen=True, kw_only=True)
class Tile(Move):
    """TILE. multiples: number of copies along each axis"""

    row = ROW
    name = "TILE"
    constants = ("multiples",)

    multiples: tuple[int, ...]

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if len(self.multiples) != len(source) or min(self.multiples, default=1) < 1:
            raise InputError(f"a tensor of {times(source)} is not repeated {times(self.multiples)} times")
        return tuple(size * count for size, count in zip(source, self.multiples))

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.tile(values, self.multiples)

    def to_c(self, node: Node, calls: Calls) -> None:
        source = node.inputs[0]
        sizes = tuple(size for pair in zip(self.multiples, source.shape) for size in pair)
        taken = tuple(step for steps in ((0, step) for step in dense(source.shape)) for step in steps)
        copy_values(node, calls, source, node.outputs[0], sizes, taken)


def _onnx_slice(call: "OnnxCall") -> list[Operation]:
    source = call.shape(0)
    starts, ends = call.listed("starts", 1), call.listed("ends", 2)
    axes = call.listed("axes", 3, tuple(range(len(starts))))
    steps = call.integers(4) if call.has(4) else (1,) * len(starts)
    parts = [(0, size, 1) for size in source]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            raise Unsupported("it takes values backwards")
        parts[axis] = slice(start, end, step).indices(source[axis])
    first, last, steps = zip(*parts)
    return [call.make("slice", call.inputs[:1], begin=first, end=last, steps=steps)]


def _aten_slice(call: "AtenCall") -> list[Operation]:
    source = call.shape(call.source)
    if call.takes_all:
        return [call.make("identity", call.source)]
    axis = call.axis(call.whole("dim"), len(source))
    part = slice(call["start"], call["end"], call["step"]).indices(source[axis])
    begin, end, steps = [0] * len(source), list(source), [1] * len(source)
    begin[axis], end[axis], steps[axis] = part
    return [call.make("slice", call.source, begin=tuple(begin), end=tuple(end), steps=tuple(steps))]


def _relax_slice(call: "RelaxCall") -> list[Operation]:
    source = call.operand(0)
    shape = call.shape(source)
    given = [_integers(each) for each in call.step.operands[1:]]
    axes, begin, end = given[:3]
    steps = given[3] if len(given) > 3 and given[3] else (1,) * len(axes)
    if min(steps, default=1) < 1:
        raise Unsupported("it takes values backwards")
    parts = {call.axis(axis, len(shape)): slice(*each) for axis, *each in zip(axes, begin, end, steps, strict=True)}
    begin, end, steps = zip(*(parts.get(axis, slice(None)).indices(size) for axis, size in enumerate(shape)))
    return [call.make("slice", source, begin=begin, end=end, steps=steps)]


def _integers(operand: object) -> tuple[int, ...]:
    """Return the integers of a slice, () if the operand is left out. Raise Unsupported if they are known only at run
    time."""
    values = () if operand is None else operand
    if not isinstance(values, tuple) or not all(isinstance(each, int) for each in values):
        raise Unsupported("its ends are no numbers")
    return values


def _parts_of(operation: Operation) -> tuple[slice, ...]:
    """Return the slice of each axis."""
    begin, end = operation.integers("begin"), operation.integers("end")
    steps = operation.integers("steps", (1,) * len(begin))
    return tuple(slice(*each) for each in zip(begin, end, steps, strict=True))


@dataclass(frozen=True, kw_only=True)
class Slice(Move):
    """SLICE. begin, size: of each axis. A float slice with steps becomes STRIDED_SLICE."""

    row = ROW
    name = "SLICE"
    constants = ("begin", "size")
    kind = "slice"
    onnx = {"Slice": _onnx_slice}
    aten = {"slice": _aten_slice}
    relax = {"strided_slice": _relax_slice}

    begin: tuple[int, ...]
    size: tuple[int, ...]

    def with_axes(self, axes: tuple[int, ...]) -> "Slice":
        """Return the slice of a tensor whose axes are these ones of the source."""
        begin, size = (tuple(each[axis] for axis in axes) for each in (self.begin, self.size))
        return replace(self, begin=begin, size=size)

    def ranges(self, shape: tuple[int, ...]) -> tuple[range, ...]:
        """Return the places that it takes along each axis of a tensor of a shape."""
        ends = (total if size == -1 else first + size for first, size, total in zip(self.begin, self.size, shape))
        return tuple(map(range, self.begin, ends))

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if not len(self.begin) == len(self.size) == len(source):
            raise InputError(f"a slice of {len(self.begin)} axes of a tensor of {len(source)}")
        return movement.slice_(_places(source), self.begin, self.size).shape

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.slice_(values, self.begin, self.size)

    def to_c(self, node: Node, calls: Calls) -> None:
        copy_slices(node, calls, node.outputs[0], list(self.ranges(node.inputs[0].shape)))

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        made = tuple(len(range(size)[part]) for size, part in zip(inputs[0], _parts_of(operation), strict=True))
        if not all(made):
            raise InputError(f"a slice of {times(inputs[0])} values without any")
        return [made]

    @staticmethod
    def arrays(operation: Operation, x: np.ndarray) -> list[np.ndarray]:
        return [x[_parts_of(operation)]]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        source = inner(fold, made, target)
        parts = [part.indices(size) for part, size in zip(_parts_of(made.operation), made.inputs[0].shape)]
        parts = [parts[axis] for axis in np.argsort(source.axes)]
        if min(step for _, _, step in parts) < 1:
            raise Unsupported("it takes values backwards")
        begin, end, steps = (tuple(int(each) for each in column) for column in zip(*parts))
        shape = stored(made.shape, source.axes)
        operator = (
            Slice(begin=begin, size=shape) if set(steps) == {1} else StridedSlice(begin=begin, end=end, strides=steps)
        )
        return fold.node(made.operation.where, operator, (source.tensor,), shape, source.axes, target)


@dataclass(frozen=True, kw_only=True)
class StridedSlice(Move):
    """STRIDED_SLICE. Bit n of a mask applies to entry n of begin, end and strides."""

    row = ROW
    name = "STRIDED_SLICE"
    constants = ("begin", "end", "strides")
    schema_options = {
        "begin_mask": "beginMask",
        "end_mask": "endMask",
        "ellipsis_mask": "ellipsisMask",
        "new_axis_mask": "newAxisMask",
        "shrink_axis_mask": "shrinkAxisMask",
    }

    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...]
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        if call.option("offset", 0):
            raise Unsupported("its ends count from its begin")
        return super().read_attributes(call)

    def ranges(self, shape: tuple[int, ...]) -> tuple[range, ...]:
        """Return the places that it takes along each axis of a tensor of a shape; () if it changes the rank."""
        if self.changes_rank or len(self.begin) != len(shape):
            return ()
        return tuple(self._taken(entry, size) for entry, size in enumerate(shape))

    @property
    def changes_rank(self) -> bool:
        """Return whether it adds or removes axes."""
        return bool(self.ellipsis_mask or self.new_axis_mask or self.shrink_axis_mask)

    def with_axes(self, axes: tuple[int, ...]) -> "StridedSlice":
        """Return the slice, which keeps the rank, of a tensor whose axes are these ones of the source."""
        begin, end, strides = (tuple(each[axis] for axis in axes) for each in (self.begin, self.end, self.strides))
        masks = [
            sum((mask >> axis & 1) << n for n, axis in enumerate(axes)) for mask in (self.begin_mask, self.end_mask)
        ]
        return replace(self, begin=begin, end=end, strides=strides, begin_mask=masks[0], end_mask=masks[1])

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        try:
            return self.move(_places(source)).shape
        except IndexError:
            raise InputError(f"a slice that leaves {times(source)} values") from None

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.strided_slice(
            values,
            self.begin,
            self.end,
            self.strides,
            self.begin_mask,
            self.end_mask,
            self.ellipsis_mask,
            self.new_axis_mask,
            self.shrink_axis_mask,
        )

    def to_c(self, node: Node, calls: Calls) -> None:
        """Add the copy. Axes that are new or removed have size 1, so the loops leave them out."""
        shape, entries = node.inputs[0].shape, len(self.begin)
        ellipsis = self.ellipsis_mask & ((1 << entries) - 1)
        given = sum(1 for entry in range(entries) if not (ellipsis | self.new_axis_mask) >> entry & 1)
        taken: list[range] = []
        for entry in range(entries):
            bit = 1 << entry
            if ellipsis & bit:
                taken += [range(size) for size in shape[len(taken) : len(taken) + len(shape) - given]]
            elif not self.new_axis_mask & bit:
                taken.append(self._taken(entry, shape[len(taken)]))
        taken += [range(size) for size in shape[len(taken) :]]
        copy_slices(node, calls, node.outputs[0], taken)

    def _taken(self, entry: int, size: int) -> range:
        """Return the indices that an entry takes of an axis."""
        bit = 1 << entry
        first = None if self.begin_mask & bit else self.begin[entry]
        last = None if self.end_mask & bit else self.end[entry]
        if self.shrink_axis_mask & bit:
            index = (first or 0) % size
            return range(index, index + 1)
        return range(*slice(first, last, self.strides[entry]).indices(size))

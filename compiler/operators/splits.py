# SPDX-License-Identifier: Apache-2.0
"""GATHER, SPLIT and UNPACK."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Arrays, Tensors, axis_of, only
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.kernel_calls.copies import all_but, copy_slices, gather_values
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.folding import inner, stored
from eyrie.compiler.operators.move import Move, Movement
from eyrie.compiler.operators.parts import ROW, Slice
from eyrie.compiler.operators.record import Shape
from eyrie.model.errors import InputError
from eyrie.model.operators import movement

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File


def _onnx_gather(call: "OnnxCall") -> list[Operation]:
    return [call.make("gather", call.inputs[:1], axis=call.whole("axis", 0), places=call.constant(1))]


@dataclass(frozen=True, kw_only=True)
class Gather(Move):
    """GATHER. places: indices along the axis, of any shape"""

    row = ROW
    name = "GATHER"
    schema_options = {"axis": "axis"}
    kind = "gather"
    onnx = {"Gather": _onnx_gather}

    places: tuple[int, ...]
    places_shape: tuple[int, ...]
    axis: int = 0

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        if call.option("batchDims"):
            raise Unsupported("it has batch dimensions")
        shape = call.constant(1).shape
        return {"places": call.integers(1), "places_shape": shape, **super().read_attributes(call)}

    def written_constants(self) -> tuple[ArrayLike, ...]:
        return (np.reshape(self.places, self.places_shape),)

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        axis = axis_of(self.axis, len(source))
        if not all(0 <= place < source[axis] for place in self.places):
            raise InputError(f"places that {source[axis]} values along axis {axis} do not have")
        return source[:axis] + self.places_shape + source[axis + 1 :]

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.gather(values, np.reshape(self.places, self.places_shape), self.axis)

    def to_c(self, node: Node, calls: Calls) -> None:
        axis = self.axis % len(node.inputs[0].shape)
        gather_values(node, calls, {axis: np.array(self.places, np.int64)})

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        axis = axis_of(operation.integer("axis"), len(inputs[0]))
        return [(*inputs[0][:axis], *operation.array("places").shape, *inputs[0][axis + 1 :])]

    @staticmethod
    def arrays(operation: Operation, x: np.ndarray) -> list[np.ndarray]:
        return [np.take(x, operation.array("places"), operation.integer("axis"))]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        source, operation = inner(fold, made, target), made.operation
        tensor = fold.ordered(source, tuple(range(len(source.axes))), operation.where)
        axis = axis_of(operation.integer("axis"), len(source.axes))
        places = operation.array("places").astype(np.int64)
        places = np.where(places < 0, places + source.shape[axis], places)
        operator = Gather(places=tuple(map(int, places.ravel())), places_shape=places.shape, axis=axis)
        return fold.node(operation.where, operator, (tensor,), made.shape, tuple(range(len(made.shape))), target)


def _onnx_split(call: "OnnxCall") -> list[Operation]:
    axis, count = call.whole("axis", 0), len(call.outputs)
    sizes = call.listed("split", 1) if call.lists("split", 1) else None
    whole = call.shape(0)[axis]
    if sizes is None:
        each = -(-whole // count)
        sizes = (*(each,) * (count - 1), whole - each * (count - 1))
    return [call.make("split", call.inputs[:1], axis=axis, sizes=sizes)]


def _aten_split(call: "AtenCall") -> list[Operation]:
    axis = call.axis(call.whole("dim"), len(call.shape(call.source)))
    return [call.inner("split", call.part_names, call.source, axis=axis, sizes=call.part_sizes(axis))]


@dataclass(frozen=True, kw_only=True)
class Split(Movement):
    """SPLIT or SPLIT_V. sizes: of the parts along the axis. A float split becomes a SLICE for each part, because the
    results may need different scales."""

    row = ROW
    name = "SPLIT"
    tflite = ("SPLIT", "SPLIT_V")
    kind = "split"
    onnx = {"Split": _onnx_split}
    aten = dict.fromkeys(("split", "split_with_sizes", "chunk"), _aten_split)

    axis: int
    sizes: tuple[int, ...]

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "Split"]:
        """Return the input and the operator; SPLIT has the axis before its input and parts of one size."""
        if call.name == "SPLIT_V":
            source, sizes, (axis,) = call.tensor(0), call.integers(1), call.integers(2)
            rest = source.shape[axis] - sum(size for size in sizes if size != -1)
            return (source,), cls(axis=axis, sizes=tuple(rest if size == -1 else size for size in sizes))
        (axis,), source, count = call.integers(0), call.tensor(1), call.option("numSplits")
        rank = len(source.shape)
        if not -rank <= axis < rank or count < 1 or source.shape[axis] % count:
            raise ModelImportError(f"{source.form} does not split into {count} along axis {axis}", remedy=REMEDY)
        return (source,), cls(axis=axis, sizes=(source.shape[axis] // count,) * count)

    def write(self, node: Node, file: "File") -> None:
        file.operator(node, "SPLIT_V", {"numSplits": len(self.sizes)}, self.sizes, (self.axis,))

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape, axis = source.shape, axis_of(self.axis, len(source.shape))
        if min(self.sizes, default=0) < 1 or sum(self.sizes) != shape[axis]:
            sizes = " + ".join(map(str, self.sizes))
            raise InputError(f"{shape[axis]} values along an axis are not split into {sizes}")
        return tuple(Form(source.dtype, (*shape[:axis], size, *shape[axis + 1 :])) for size in self.sizes)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return tuple(movement.split_v(values[0], self.sizes, self.axis))

    def to_c(self, node: Node, calls: Calls) -> None:
        axis, first = self.axis % len(node.inputs[0].shape), 0
        for output, size in zip(node.outputs, self.sizes):
            copy_slices(node, calls, output, all_but(node.inputs[0], axis, range(first, first + size)))
            first += size

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        axis, sizes = axis_of(operation.integer("axis"), len(inputs[0])), operation.integers("sizes")
        if sum(sizes) != inputs[0][axis] or len(sizes) != len(operation.outputs):
            parts = " + ".join(map(str, sizes))
            raise InputError(f"{inputs[0][axis]} values along an axis are not split into {parts}")
        return [(*inputs[0][:axis], size, *inputs[0][axis + 1 :]) for size in sizes]

    @staticmethod
    def arrays(operation: Operation, x: np.ndarray) -> list[np.ndarray]:
        return np.split(x, np.cumsum(operation.integers("sizes"))[:-1], operation.integer("axis"))

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        source, operation = inner(fold, made, target), made.operation
        axis, first = (
            axis_of(operation.integer("axis"), len(made.shape)),
            sum(operation.integers("sizes")[: made.number]),
        )
        begin = tuple(first if n == axis else 0 for n in range(len(made.shape)))
        begin = tuple(begin[each] for each in np.argsort(source.axes))
        shape = stored(made.shape, source.axes)
        return fold.node(operation.where, Slice(begin=begin, size=shape), (source.tensor,), shape, source.axes, target)


@dataclass(frozen=True, kw_only=True)
class Unpack(Movement):
    """UNPACK: splits a tensor along an axis, which its results do not have."""

    row = ROW
    name = "UNPACK"
    schema_options = {"axis": "axis"}

    axis: int

    def write(self, node: Node, file: "File") -> None:
        file.operator(node, self.name, {"axis": self.axis, "num": len(node.outputs)})

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape, axis = source.shape, axis_of(self.axis, len(source.shape))
        return (Form(source.dtype, shape[:axis] + shape[axis + 1 :]),) * shape[axis]

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return tuple(movement.unpack(values[0], self.axis))

    def to_c(self, node: Node, calls: Calls) -> None:
        axis = self.axis % len(node.inputs[0].shape)
        for place, output in enumerate(node.outputs):
            copy_slices(node, calls, output, all_but(node.inputs[0], axis, range(place, place + 1)))

# SPDX-License-Identifier: Apache-2.0
"""RESHAPE and TRANSPOSE, with other operators that become them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Operator, Tensors, axis_of
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.kernel_calls.axes import dense
from eyrie.compiler.kernel_calls.copies import copy_values
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.folding import channels_last, inner
from eyrie.compiler.operators.move import Move
from eyrie.compiler.operators.record import MOVE, Row, Shape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import movement

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

_ROW = Row("shapes and orders", MOVE)


# ---- Reshape ----


def _onnx_to(call: "OnnxCall", shape: Shape) -> list[Operation]:
    return [call.make("reshape", call.inputs[:1], shape=tuple(int(size) for size in shape))]


def _onnx_reshape(call: "OnnxCall") -> list[Operation]:
    """Translate Reshape. Size 0 keeps the input's size; -1 stands for all remaining values."""
    source, to = call.shape(0), list(call.listed("shape", 1))
    if not call.whole("allowzero", 0):
        to = [source[n] if size == 0 and n < len(source) else size for n, size in enumerate(to)]
    if -1 in to:
        to[to.index(-1)] = prod(source) // max(-prod(to), 1)
    return _onnx_to(call, tuple(to))


def _onnx_flatten(call: "OnnxCall") -> list[Operation]:
    source = call.shape(0)
    axis = call.whole("axis", 1)
    axis = axis + len(source) if axis < 0 else axis
    return _onnx_to(call, (prod(source[:axis]), prod(source[axis:])))


def _onnx_squeeze(call: "OnnxCall") -> list[Operation]:
    source = call.shape(0)
    if call.lists("axes", 1):
        gone = {axis % len(source) for axis in call.listed("axes", 1)}
    else:
        gone = {n for n, size in enumerate(source) if size == 1}
    return _onnx_to(call, tuple(size for n, size in enumerate(source) if n not in gone))


def _onnx_unsqueeze(call: "OnnxCall") -> list[Operation]:
    source, axes = list(call.shape(0)), call.listed("axes", 1)
    for axis in sorted(axis % (len(source) + len(axes)) for axis in axes):
        source.insert(axis, 1)
    return _onnx_to(call, tuple(source))


def _aten_reshape(call: "AtenCall") -> list[Operation]:
    call.shape(call.source)
    return [call.make("reshape", call.source, shape=call.made_shape)]


def _relax_reshape(call: "RelaxCall") -> list[Operation]:
    call.shape(call.operand(0))
    return [call.make("reshape", call.operand(0), shape=call.made_shape)]


@dataclass(frozen=True, kw_only=True)
class Reshape(Move):
    """RESHAPE, SQUEEZE or EXPAND_DIMS. to: the shape; operator: the name"""

    row = _ROW
    tflite = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
    version = 1
    kind = "reshape"
    onnx = {
        "Reshape": _onnx_reshape,
        "Flatten": _onnx_flatten,
        "Squeeze": _onnx_squeeze,
        "Unsqueeze": _onnx_unsqueeze,
    }
    aten = dict.fromkeys(
        ("flatten", "view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "unflatten"), _aten_reshape
    )
    relax = dict.fromkeys(("reshape", "flatten", "squeeze", "expand_dims", "nn.batch_flatten"), _relax_reshape)

    to: tuple[int, ...]
    operator: str = "RESHAPE"

    @property
    def name(self) -> str:
        return self.operator

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        """Return the output's shape, which is fixed, and the name."""
        return {"to": call.reader.shape(call.outputs[0]), "operator": call.name}

    def write(self, node: Node, file: "File") -> None:
        """Add a RESHAPE, which has the shape as a constant."""
        file.operator(node, "RESHAPE", {}, self.to)

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if prod(source) != prod(self.to):
            raise InputError(f"{times(source)} values do not fill {times(self.to)}")
        return self.to

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.reshape(values, self.to)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return 0

    def to_c(self, node: Node, calls: Calls) -> None:
        calls.view(node.outputs[0], node.inputs[0])

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        to = operation.integers("shape")
        if prod(to) != prod(inputs[0]):
            raise InputError(f"{times(inputs[0])} values do not fill {times(to)}")
        return [to]

    @staticmethod
    def arrays(operation: Operation, x: np.ndarray) -> list[np.ndarray]:
        return [x.reshape(operation.integers("shape"))]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the tensor, whose axes stay where they are unless several become one."""
        source, where = inner(fold, made, target), made.operation.where
        blocks = _by_place(source, list(_blocks(source.shape, made.shape)))
        before = [axis for taken, _ in blocks for axis in taken]
        after = [axis for _, given in blocks for axis in given]
        large = [source.axes[axis] for axis in before if source.shape[axis] > 1]
        tensor = source.tensor if large == sorted(large) else fold.ordered(source, tuple(before), where)
        shape = tuple(made.shape[axis] for axis in after)
        return fold.node(where, Reshape(to=shape), (tensor,), shape, tuple(map(after.index, range(len(after)))), target)


def _blocks(before: Shape, to: Shape) -> Iterator[tuple[range, range]]:
    """Yield axes before and after a reshape that have the same values, as few as possible at a time."""
    first, other = 0, 0
    while first < len(before) or other < len(to):
        end, end_after = min(first + 1, len(before)), min(other + 1, len(to))
        while (size := prod(before[first:end])) != (made := prod(to[other:end_after])):
            end, end_after = end + (size < made), end_after + (size > made)
        yield range(first, end), range(other, end_after)
        first, other = end, end_after


def _by_place(source: Held, blocks: Sequence[tuple[range, range]]) -> list[tuple[range, range]]:
    """Return blocks of axes, each at the place of its first axis in the tensor. A block whose axes have one entry
    each follows the last block."""
    places, place = list[int](), -1
    for axes, _ in blocks:
        place = min((source.axes[axis] for axis in axes if source.shape[axis] > 1), default=place)
        places.append(place)
    return [blocks[n] for n in sorted(range(len(blocks)), key=lambda n: places[n])]


def on_map(fold: Fold, made: Made, source: Held, operator: Operator, target: Target) -> Held:
    """Return the result of a window on a map N, H, W, C. A source of one axis has columns only."""
    where, rank = made.operation.where, len(made.shape)
    order, axes = channels_last(rank)
    tensor, shape = fold.ordered(source, order, where), tuple(made.shape[axis] for axis in order)
    if rank == 4:
        return fold.node(where, operator, (tensor,), shape, axes, target)
    flat = fold.node(
        where,
        Reshape(to=(tensor.shape[0], 1, *tensor.shape[1:])),
        (tensor,),
        (tensor.shape[0], 1, *tensor.shape[1:]),
        (0, 1, 2, 3),
        Target(source.quantization, f"{target.name} input"),
    )
    map_ = fold.node(
        where,
        operator,
        (flat.tensor,),
        (shape[0], 1, *shape[1:]),
        (0, 1, 2, 3),
        Target(target.quantization, f"{target.name} map"),
    )
    return fold.node(where, Reshape(to=shape), (map_.tensor,), shape, axes, target)


# ---- Transpose ----


def _onnx_transpose(call: "OnnxCall") -> list[Operation]:
    return [call.make("transpose", axes=call.wholes("perm", tuple(reversed(range(len(call.shape(0)))))))]


def _aten_permute(call: "AtenCall") -> list[Operation]:
    rank = len(call.shape(call.source))
    axes = [axis % rank for axis in call.wholes("dims")]
    return _aten_transposed(call, axes)


def _aten_transpose(call: "AtenCall") -> list[Operation]:
    axes = list(range(len(call.shape(call.source))))
    one, other = call.whole("dim0"), call.whole("dim1")
    axes[one], axes[other] = axes[other], axes[one]
    return _aten_transposed(call, axes)


def _aten_transposed(call: "AtenCall", axes: list[int]) -> list[Operation]:
    if axes[0] != 0:
        raise Unsupported("it goes across images")
    return [call.make("transpose", call.source, axes=tuple(axes))]


def _relax_permute(call: "RelaxCall") -> list[Operation]:
    source = call.operand(0)
    rank = len(call.shape(source))
    axes = call.numbers("axes") if call.given("axes") else tuple(reversed(range(rank)))
    axes = tuple(axis % rank for axis in axes)
    if axes[0] != 0 and not call.is_constant(source):
        raise Unsupported("it goes across images")
    return [call.make("transpose", source, axes=axes)]


@dataclass(frozen=True, kw_only=True)
class Transpose(Move):
    """TRANSPOSE: axis n of the result is axis axes[n]."""

    row = _ROW
    name = "TRANSPOSE"
    constants = ("axes",)
    kind = "transpose"
    onnx = {"Transpose": _onnx_transpose}
    aten = {"permute": _aten_permute, "transpose": _aten_transpose}
    relax = {"permute_dims": _relax_permute}

    axes: tuple[int, ...]

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        places = [axis_of(axis, len(source)) for axis in self.axes]
        if sorted(places) != list(range(len(source))):
            raise InputError(f"axes {', '.join(map(str, self.axes))} of a tensor of {len(source)} axes")
        return tuple(source[place] for place in places)

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.transpose(values, self.axes)

    def to_c(self, node: Node, calls: Calls) -> None:
        source, steps = node.inputs[0], dense(node.inputs[0].shape)
        taken = tuple(steps[axis] for axis in self.axes)
        copy_values(node, calls, source, node.outputs[0], node.outputs[0].shape, taken)

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        axes = operation.integers("axes")
        if sorted(axes) != list(range(len(inputs[0]))):
            raise InputError(f"axes {', '.join(map(str, axes))} of a tensor of {len(inputs[0])} axes")
        return [tuple(inputs[0][axis] for axis in axes)]

    @staticmethod
    def arrays(operation: Operation, x: np.ndarray) -> list[np.ndarray]:
        return [x.transpose(operation.integers("axes"))]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the tensor with permuted axes. The values stay until a reader needs another order."""
        source = inner(fold, made, target)
        axes = tuple(source.axes[axis] for axis in made.operation.integers("axes"))
        return Held(source.tensor, axes, source.unsigned)

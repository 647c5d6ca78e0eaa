# SPDX-License-Identifier: Apache-2.0
"""BATCH_MATMUL: on the array if the second operand is a constant, else on the host, since filters are constants."""

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Known, Made, Target
from eyrie.compiler.ir.tensor import Constant, Form, Tensor
from eyrie.compiler.kernel_calls.axes import Walk, broadcast, dense
from eyrie.compiler.kernel_calls.scales import range_of, scale_of, scaling, zero_point_of
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.affine import centred
from eyrie.compiler.operators.binary import codes_of
from eyrie.compiler.operators.convolution import Conv2D
from eyrie.compiler.operators.record import Record, Row, Shape
from eyrie.compiler.operators.shapes import Reshape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import products
from eyrie.model.operators.quantization import Requantization, requantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call


def _aten(call: "AtenCall") -> list[Operation]:
    first, second = (call[name] for name in [*call.arguments][:2])
    if len(call.made_shape) > 2:
        return call.of_two("matmul")
    if call.is_constant(first) or not call.is_constant(second):
        raise Unsupported("it goes across images")
    return [call.make("matmul", first, second)]


@dataclass(frozen=True, kw_only=True)
class BatchMatMul(Record):
    """BATCH_MATMUL: products of the matrices in the last two axes. Axes before these broadcast.

    turn_first, turn_second: whether these axes of an operand are exchanged
    """

    row = Row("matrix product", "array; of two inputs: host")
    name = "BATCH_MATMUL"
    kind = "matmul"
    operands = 2
    aten = dict.fromkeys(("matmul", "bmm"), _aten)
    clamps = False
    schema_options = {"turn_first": "adjX", "turn_second": "adjY"}

    turn_first: bool = False
    turn_second: bool = False

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        if call.unsigned:
            raise Unsupported("its tensors are uint8: quantise it to int8")
        call.quantized_output()
        return call.quantized(0), call.quantized(1)

    # ---- Values ----

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        return int8(_made(*self._turned(*(expect(tensor, "int8").shape for tensor in only(inputs, 2)))))

    def _turned(self, first: Shape, second: Shape) -> tuple[Shape, Shape]:
        """Return a value for each axis of both operands, in the order of axes in which they are multiplied."""
        return _swapped(first, self.turn_first), _swapped(second, self.turn_second)

    def _requantization(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        first, second, output = quantizations(*inputs, *outputs)
        return requantization(first, second.scale, output)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self._requantization(inputs, outputs)
        products.check_terms(inputs[0].shape[-2 if self.turn_first else -1])

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        turns = self.turn_first, self.turn_second
        first, second = (value.swapaxes(-1, -2) if turn else value for value, turn in zip(values, turns))
        one, other = quantizations(*inputs)
        return (products.batch_matmul(first, second, (one, other), self._requantization(inputs, outputs)),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * inputs[0].shape[-2 if self.turn_first else -1]

    # ---- From float values ----

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        return [_made(*inputs)]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        where = made.operation.where
        held = [
            fold.constant(*codes_of(real, made)) if isinstance(real, Known) else fold.operand(real)
            for real in made.inputs
        ]
        tensors = tuple(fold.ordered(each, tuple(range(len(each.axes))), where) for each in held)
        return fold.node(where, cls(), tensors, made.shape, tuple(range(len(made.shape))), target)

    # ---- Accelerator ----

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return a pointwise convolution between reshapes if the second operand is one constant matrix."""
        (first, second), (output,) = node.inputs, node.outputs
        one_matrix = isinstance(second, Constant) and prod(second.shape[:-2]) == 1
        if not one_matrix or isinstance(first, Constant) or self.turn_first:
            return (node,)
        assert isinstance(second, Constant)
        filters = second.data.reshape(second.shape[-2:])
        filters = centred(filters if self.turn_second else filters.T, np.array(quantized(second).zero_point))
        count, terms = filters.shape
        conv = Conv2D(
            filters=filters.reshape(count, 1, 1, terms),
            scales=np.array([scale_of(second)], np.float32),
            bias=np.zeros(count, np.int32),
        )
        rows = first.shape[-2]
        pixels = first.size // (rows * terms), rows
        before, after = ((1, *pixels, channels) for channels in (terms, count))
        source: Tensor = replace(first, name=f"{output.name}#1", shape=before)
        sums: Tensor = replace(output, name=f"{output.name}#2", shape=after)
        return (
            replace(node, operator=Reshape(to=before), inputs=(first,), outputs=(source,)),
            replace(node, operator=conv, inputs=(source,), outputs=(sums,)),
            replace(node, operator=Reshape(to=output.shape), inputs=(sums,), outputs=(output,)),
        )

    # ---- C ----

    def to_c(self, node: Node, calls: Calls) -> None:
        (output,), shapes = node.outputs, [tensor.shape for tensor in node.inputs]
        (*_, rows, terms), (*_, columns) = self._turned(*shapes)
        (*_, first_row, first_column), (*_, second_row, second_column) = self._turned(*map(dense, shapes))
        leading = output.shape[:-2]
        walk = Walk(leading, tuple(broadcast(shape, (*leading, *shape[-2:]))[:-2] for shape in shapes)).merged()
        first, second = map(zero_point_of, node.inputs)
        settings: Fields = {
            "batches": walk.count,
            "axes": len(walk.sizes),
            "sizes": np.array(walk.sizes, np.int32),
            "first_strides": np.array(walk.strides[0], np.int32),
            "second_strides": np.array(walk.strides[1], np.int32),
            "M": rows,
            "K": terms,
            "N": columns,
            "first_row": first_row,
            "first_column": first_column,
            "second_row": second_row,
            "second_column": second_column,
            "first_zero_point": first,
            "second_zero_point": second,
            **scaling(scale_of(node.inputs[0]) * scale_of(node.inputs[1]) / scale_of(output)),
            **range_of(output),
        }
        calls.call(node, "batch_matmul", settings, node.inputs, output)


def _made(first: Shape, second: Shape) -> Shape:
    """Return the shape of a product. Raise InputError if the operands do not go together."""
    if min(len(first), len(second)) >= 2 and first[-1] == second[-2]:
        try:
            return (*np.broadcast_shapes(first[:-2], second[:-2]), first[-2], second[-1])
        except ValueError:
            pass
    raise InputError(f"matrices of {times(first)} and {times(second)} do not go together")


def _swapped(values: Shape, turn: bool) -> Shape:
    return (*values[:-2], values[-1], values[-2]) if turn else values

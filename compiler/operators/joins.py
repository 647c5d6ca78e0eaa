# SPDX-License-Identifier: Apache-2.0
"""CONCATENATION and PACK."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors, axis_of, check_same, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Constant, Form, Quantized, Tensor
from eyrie.compiler.kernel_calls.axes import dense
from eyrie.compiler.kernel_calls.copies import copy_values
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.kernel_calls.tables import joined_table
from eyrie.compiler.operators.folding import common_axes, inner, stored
from eyrie.compiler.operators.lookup import lookup
from eyrie.compiler.operators.move import Movement
from eyrie.compiler.operators.parts import ROW
from eyrie.compiler.operators.record import Shape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import movement, tables

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall


def _onnx(call: "OnnxCall") -> list[Operation]:
    return [call.make("concat", axis=call.whole("axis"))]


def _onnx_codes(call: "OnnxCall") -> list[Operation]:
    """Translate QLinearConcat: scale and zero point of the result, then each input with its scale and zero point."""
    parts = [call.inner(str(number)) for number in range(2, len(call.inputs), 3)]
    made = [call.dequantized(number, number + 1, part) for number, part in zip(range(2, len(call.inputs), 3), parts)]
    return [
        *made,
        call.make("concat", tuple(parts), (call.inner("float"),), axis=call.whole("axis")),
        call.quantized(call.inner("float"), 0),
    ]


def _aten(call: "AtenCall") -> list[Operation]:
    axis, tensors = call.axis(call.whole("dim"), len(call.made_shape)), call["tensors"]
    if not isinstance(tensors, (list, tuple)):
        raise Unsupported(f"it takes {tensors}")
    return [call.make("concat", *tensors, axis=axis)]


def _relax(call: "RelaxCall") -> list[Operation]:
    tensors = call.operand(0)
    if not isinstance(tensors, tuple) or not call.given("axis"):
        raise Unsupported("its tensors are not given one by one, with an axis")
    return [call.make("concat", *tensors, axis=call.axis(call.whole("axis"), len(call.made_shape)))]


@dataclass(frozen=True, kw_only=True)
class Concatenation(Movement):
    """CONCATENATION. unsigned: the model has it in uint8; then each input may have a scale of its own"""

    row = ROW
    library = "eyrie_concatenation"
    name = "CONCATENATION"
    schema_options = {"axis": "axis"}
    kind = "concat"
    onnx = {"Concat": _onnx}
    microsoft = {"QLinearConcat": _onnx_codes}
    aten = dict.fromkeys(("cat", "concat"), _aten)
    relax = {"concat": _relax}

    axis: int
    unsigned: bool = False

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "Concatenation"]:
        if call.fused() != "NONE":
            raise Unsupported(f"fused activation {call.fused()}")
        parts = call.tensors()
        unsigned = call.unsigned and all(isinstance(part, Quantized) for part in parts)
        return parts, cls(axis=call.option("axis"), unsigned=unsigned)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        if not inputs:
            raise InputError("takes no tensors")
        rank = len(inputs[0].shape)
        axis = axis_of(self.axis, rank)
        others = {(part.dtype, *part.shape[:axis], None, *part.shape[axis + 1 :]) for part in inputs}
        if len(others) > 1 or any(len(part.shape) != rank for part in inputs):
            shapes = ", ".join(times(part.shape) for part in inputs)
            raise InputError(f"tensors of {shapes} are not joined along axis {axis}")
        total = sum(part.shape[axis] for part in inputs)
        shape = inputs[0].shape
        return (Form(inputs[0].dtype, (*shape[:axis], total, *shape[axis + 1 :])),)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        if outputs[0].dtype == "int8" and not self.unsigned:
            check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        if self.unsigned:
            output = quantized(outputs[0]).quantization
            values = tuple(
                tables.apply(tables.joined_uint8(quantized(tensor).quantization, output), value)
                for tensor, value in zip(inputs, values)
            )
        return (movement.concatenation(values, self.axis),)

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes: inputs of other scales are rescaled to the output's scale first."""
        (output,) = node.outputs
        if any(isinstance(tensor, Constant) for tensor in node.inputs):
            return (node,)
        nodes: list[Node] = []
        inputs: list[Tensor] = []
        for n, tensor in enumerate(node.inputs):
            if isinstance(tensor, Quantized) and tensor.quantization != quantized(output).quantization:
                rescaled = replace(output, name=f"{output.name}#rescaled{n}", shape=tensor.shape)
                entries = tables.joined_uint8(tensor.quantization, quantized(output).quantization)
                nodes.append(lookup(node, entries, tensor, rescaled))
                tensor = rescaled
            inputs.append(tensor)
        return *nodes, replace(node, operator=replace(self, unsigned=False), inputs=tuple(inputs))

    def to_c(self, node: Node, calls: Calls) -> None:
        output, first = node.outputs[0], 0
        axis, steps = self.axis % len(output.shape), dense(output.shape)
        for part in node.inputs:
            source = part
            if self.unsigned and quantized(part).quantization != quantized(output).quantization:
                source = calls.scratch(part.form)
                settings: Fields = {"count": part.size, "entries": joined_table(part, output)}
                calls.call(node, "lookup", settings, (part,), source)
            copy_values(node, calls, source, output, part.shape, dense(part.shape), steps, put=first * steps[axis])
            first += part.shape[axis]

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        axis = axis_of(operation.integer("axis"), len(inputs[0]))
        if len({(*shape[:axis], *shape[axis + 1 :]) for shape in inputs}) > 1:
            raise InputError(f"tensors of {', '.join(map(times, inputs))} are not joined along axis {axis}")
        return [(*inputs[0][:axis], sum(shape[axis] for shape in inputs), *inputs[0][axis + 1 :])]

    @staticmethod
    def arrays(operation: Operation, *parts: np.ndarray) -> list[np.ndarray]:
        return [np.concatenate(parts, operation.integer("axis"))]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        parts = _same_axes(fold, made, target)
        axis = parts[0].axes[axis_of(made.operation.integer("axis"), len(made.shape))]
        return fold.node(
            made.operation.where,
            Concatenation(axis=axis),
            tuple(each.tensor for each in parts),
            stored(made.shape, parts[0].axes),
            parts[0].axes,
            target,
        )


def _same_axes(fold: Fold, made: Made, target: Target) -> list[Held]:
    """Return all inputs, as tensors with the same axes."""
    held = [inner(fold, made, target, number) for number in range(len(made.inputs))]
    axes = common_axes(held)
    order = tuple(int(axis) for axis in np.argsort(axes))
    return [Held(fold.ordered(each, order, made.operation.where), axes) for each in held]


@dataclass(frozen=True, kw_only=True)
class Pack(Movement):
    """PACK: joins tensors of one shape along a new axis."""

    row = ROW
    name = "PACK"
    schema_options = {"axis": "axis"}

    axis: int

    @classmethod
    def inputs(cls, call: "Call") -> Tensors:
        return call.tensors()

    def write(self, node: Node, file: "File") -> None:
        file.operator(node, self.name, {"axis": self.axis, "valuesCount": len(node.inputs)})

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        if len({part.form for part in inputs}) != 1:
            raise InputError(f"tensors of {' and '.join(str(part.form) for part in inputs)} are not packed")
        shape = inputs[0].shape
        axis = axis_of(self.axis, len(shape) + 1)
        return (Form(inputs[0].dtype, (*shape[:axis], len(inputs), *shape[axis:])),)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (movement.pack(values, self.axis),)

    def to_c(self, node: Node, calls: Calls) -> None:
        output = node.outputs[0]
        axis, steps = self.axis % len(output.shape), dense(output.shape)
        others = (*steps[:axis], *steps[axis + 1 :])
        for place, part in enumerate(node.inputs):
            copy_values(node, calls, part, output, part.shape, dense(part.shape), others, put=place * steps[axis])

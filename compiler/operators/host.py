# SPDX-License-Identifier: Apache-2.0
"""SOFTMAX and ARG_MAX, which run on the host."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Arrays, Tensors, axis_of, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.kernel_calls.scales import scale_of, to_integer_bits
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.record import HOST, Record, Row, Shape
from eyrie.model.errors import InputError
from eyrie.model.operators import host

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

_MOST_ADDED = 4095  # exponentials whose sum fits int32 with 12 integer bits
_LARGEST_FACTOR = 2.0**31 - 1


def _onnx_axis(call: "OnnxCall", version: int) -> int:
    """Return the axis of Softmax. Before version 13, Softmax works on all axes from this one on."""
    rank = len(call.shape(0))
    axis = call.whole("axis", -1 if version >= 13 else 1) % rank
    if version < 13 and any(size > 1 for size in call.shape(0)[axis + 1 :]):
        raise Unsupported("it is over several axes")
    return axis


def _onnx(call: "OnnxCall") -> list[Operation]:
    return [call.make("softmax", axis=_onnx_axis(call, call.version))]


def _onnx_codes(call: "OnnxCall") -> list[Operation]:
    return call.between(
        lambda x, made: [call.make("softmax", (x,), (made,), axis=_onnx_axis(call, call.whole("opset", 13)))]
    )


def _aten(call: "AtenCall") -> list[Operation]:
    rank = len(call.shape(call["self"]))
    return [call.make("softmax", call["self"], axis=call.axis(call.whole("dim"), rank))]


def _relax(call: "RelaxCall") -> list[Operation]:
    rank = len(call.shape(call.operand(0)))
    return [call.make("softmax", call.operand(0), axis=call.axis(call.whole("axis"), rank))]


@dataclass(frozen=True, kw_only=True)
class Softmax(Record):
    """SOFTMAX over the last axis. beta: a factor of the input"""

    row = Row("softmax", HOST)
    library = "eyrie_softmax"
    name = "SOFTMAX"
    schema_options = {"beta": "beta"}
    kind = "softmax"
    onnx = {"Softmax": _onnx}
    microsoft = {"QLinearSoftmax": _onnx_codes}
    aten = {"softmax": _aten}
    relax = {"nn.softmax": _relax}
    clamps = False

    beta: float = 1.0

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int8").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        (output,) = quantizations(*outputs)
        if output != host.SOFTMAX_OUTPUT:
            raise InputError(
                f"its output has scale {output.scale:g} and zero point {output.zero_point}, "
                f"must be {host.SOFTMAX_OUTPUT.scale:g} and {host.SOFTMAX_OUTPUT.zero_point}"
            )
        if not 0 < self.beta < np.inf:
            raise InputError(f"beta is positive and finite, got {self.beta:g}")
        host.softmax(np.zeros(1, np.int8), quantized(inputs[0]).quantization, self.beta)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (host.softmax(values[0], quantized(inputs[0]).quantization, self.beta),)

    def to_c(self, node: Node, calls: Calls) -> None:
        (source,) = node.inputs
        length = source.shape[-1]
        if length > _MOST_ADDED:
            raise Unsupported(
                f"{node.place}: is over {length:,} values",
                layer=node.where,
                demand=length,
                bound=_MOST_ADDED,
                remedy=f"have at most {_MOST_ADDED:,}",
            )
        factor = min(float(np.float32(self.beta)) * scale_of(source) * 2.0**26, _LARGEST_FACTOR)
        multiplier, shift, radius = to_integer_bits(factor / 2.0**26, 5)
        settings: Fields = {
            "rows": source.size // length,
            "length": length,
            "lowest": -radius,
            "multiplier": multiplier,
            "shift": shift,
        }
        calls.call(node, "softmax", settings, node.inputs, node.outputs[0])

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        return inputs[:1]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return a softmax in the operator's fixed scale, then rescaled to the target."""
        if target.quantization.scale < host.SOFTMAX_OUTPUT.scale * 0.95:
            raise Unsupported(f"its result has a scale of {target.quantization.scale:g}, must be 1 / 256 or more")
        source, rank = fold.operand(made.inputs[0]), len(made.shape)
        axis = axis_of(made.operation.integer("axis"), rank)
        order = (*(n for n in range(rank) if n != axis), axis)
        axes = tuple(order.index(n) for n in range(rank))
        tensor = fold.ordered(source, order, made.operation.where)
        same = target.quantization == host.SOFTMAX_OUTPUT
        plain = Target(host.SOFTMAX_OUTPUT, target.name if same else made.name)
        held = fold.node(made.operation.where, cls(), (tensor,), tensor.shape, axes, plain)
        return fold.rescaled(made.operation, held, target)


@dataclass(frozen=True, kw_only=True)
class ArgMax(Record):
    """ARG_MAX. dtype: of the result, int32 or int64"""

    row = Row("argmax", HOST)
    name = "ARG_MAX"

    axis: int
    dtype: str

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "ArgMax"]:
        axes = call.integers(1)
        if len(axes) != 1:
            raise ModelImportError(f"{len(axes)} axes, must be one", remedy=REMEDY)
        kind = call.choice("outputType", "TensorType").lower()
        if kind not in ("int32", "int64"):
            raise Unsupported(f"its output is {kind}, not int32 or int64")
        return (call.int8(),), cls(axis=axes[0], dtype=kind)

    def write(self, node: Node, file: "File") -> None:
        file.operator(node, self.name, {"outputType": file.choice("TensorType", self.dtype.upper())}, (self.axis,))

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape = expect(source, "int8").shape
        axis = axis_of(self.axis, len(shape))
        return (Form(self.dtype, shape[:axis] + shape[axis + 1 :]),)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (np.asarray(host.arg_max(values[0], self.axis), self.dtype),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return inputs[0].size

    def to_c(self, node: Node, calls: Calls) -> None:
        shape = node.inputs[0].shape
        axis = self.axis % len(shape)
        settings: Fields = {"outer": prod(shape[:axis]), "count": shape[axis], "inner": prod(shape[axis + 1 :])}
        calls.call(node, f"arg_max_{self.dtype}", settings, node.inputs, node.outputs[0])

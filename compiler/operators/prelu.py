# SPDX-License-Identifier: Apache-2.0
"""PRELU."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors, quantizations
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Known, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.kernel_calls.scales import range_of, scaling
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.binary import Binary, WordFields, codes_of, operands_of_fold, result_fields
from eyrie.compiler.operators.record import PPU, Row, Shape
from eyrie.model.encoding import Operation as WordKind
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import elementwise
from eyrie.model.operators.host import dequantize
from eyrie.model.operators.quantization import INT8_MIN

if TYPE_CHECKING:
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall


def _aten(call: "AtenCall") -> list[Operation]:
    """Translate prelu. Its slopes are per channel, axis 1."""
    if not call.is_constant(call["weight"]):
        raise Unsupported("its slopes are no constants")
    rank, slopes = len(call.made_shape), call.shape(call["weight"])
    name = f"{call.node.name}.slopes"
    shape = (1, slopes[0], *(1,) * (rank - 2))
    return [call.inner("reshape", (name,), call["weight"], shape=shape), call.make("prelu", call["self"], name)]


@dataclass(frozen=True, kw_only=True)
class Prelu(Binary):
    """PRELU of values and slopes."""

    row = Row("PReLU", PPU)
    name = "PRELU"
    version = 1
    operation = WordKind.PRELU
    commutes = False
    kind = "prelu"
    operands = 2
    onnx = "PRelu"
    aten = {"prelu": _aten}
    clamps = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        made = super().infer(inputs)
        if made[0].shape != inputs[0].shape:
            raise InputError(f"slopes of {times(inputs[1].shape)} do not go with {times(inputs[0].shape)} values")
        return made

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)

    def parameters(self, inputs: Tensors, outputs: Tensors) -> elementwise.PreluParameters:
        values, slopes, output = quantizations(*inputs, *outputs)
        return elementwise.prelu_parameters(values, slopes, output, self.reference)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        zero_points = [scale.zero_point for scale in quantizations(*inputs)]
        return (elementwise.prelu(values[0], values[1], zero_points, self.parameters(inputs, outputs)),)

    def word_fields(self, node: Node) -> WordFields:
        (values, slopes), parameters = quantizations(*node.inputs), self.parameters(node.inputs, node.outputs)
        negative = parameters.negative
        product = {"multiplier": int(negative.multiplier), "right_shift": -int(negative.shift)}
        operands = [product | {"zero_point": values.zero_point}, {"zero_point": slopes.zero_point}]
        return operands, result_fields(parameters.positive)

    def to_c(self, node: Node, calls: Calls) -> None:
        values, slopes, output = self.scales(node)
        settings = self.operand_fields(node) | self.zero_point_fields(node)
        settings |= scaling(values / output, "positive_") | scaling(values * slopes / output, "negative_")
        calls.call(node, "prelu", settings | range_of(node.outputs[0]), node.inputs, node.outputs[0])

    @staticmethod
    def real(operation: Operation, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return np.where(x < 0, slope * x, x)

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        return inputs[:1]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        slopes = made.inputs[1]
        if not isinstance(slopes, Known):
            raise Unsupported("its slopes are no constant")
        tensors, axes, shape = operands_of_fold(fold, made)
        codes, found = codes_of(slopes, made)
        lost = slopes.values.reshape(codes.shape) - dequantize(codes, found.quantization)
        lowest = dequantize(np.array(INT8_MIN), quantizations(*tensors)[0])
        if np.abs(lost * lowest).max() > target.quantization.scale / 2:
            raise Unsupported("its slopes do not fit 8 bits")
        return fold.node(made.operation.where, Prelu(), tensors, shape, axes, target)

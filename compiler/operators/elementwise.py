# SPDX-License-Identifier: Apache-2.0
"""ADD, SUB, SQUARED_DIFFERENCE, MUL, MAXIMUM and MINIMUM of two tensors; shapes broadcast as in NumPy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Operator, Tensors, check_same, quantizations
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.ir.word_operation import AS_IS, INT8
from eyrie.compiler.kernel_calls.scales import range_of, scale_of, scaling
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.affine import affine, of_channels
from eyrie.compiler.operators.binary import Binary, WordFields, operands_of_fold, result_fields
from eyrie.compiler.operators.channels import scaled_channels, with_weights
from eyrie.compiler.operators.record import PPU, FloatOperator, Row
from eyrie.model.encoding import Operation as WordKind
from eyrie.model.operators import elementwise
from eyrie.model.operators.quantization import Requantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.tflite.reader import Call

Values = np.ndarray


def _of_addends(parameters: elementwise.AddParameters) -> WordFields:
    operands = [
        {"multiplier": int(each.multiplier), "right_shift": -int(each.shift), "zero_point": each.zero_point}
        for each in (parameters.first, parameters.second)
    ]
    return operands, result_fields(parameters.output)


class FloatArithmetic(FloatOperator):
    """An operator on two float values, each with a scale of its own. It may be a factor or an offset of channels."""

    operands = 2

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        if layer := affine(made):
            return with_weights(fold, layer, target)
        channels = of_channels(made)
        if channels:
            return scaled_channels(fold, made, fold.operand(channels.source), channels, target)
        tensors, axes, shape = operands_of_fold(fold, made)
        plain = Target(target.quantization, target.name)
        return fold.node(made.operation.where, cls.with_activation(target.activation), tensors, shape, axes, plain)

    @classmethod
    def with_activation(cls, activation: str) -> Operator:
        """Return the operator of two tensors. Raise Unsupported if there is none."""
        return cls(activation=activation)  # type: ignore[call-arg,return-value]  # Add, Sub or Mul


@dataclass(frozen=True, kw_only=True)
class Sum(Binary, FloatArithmetic):
    """ADD or SUB, with a fused activation."""

    library = "eyrie_arithmetic"
    schema_options = {"activation": "fusedActivationFunction"}
    sign: ClassVar[int]

    activation: str = "NONE"

    def parameters(self, inputs: Tensors, outputs: Tensors) -> elementwise.AddParameters:
        first, second, output = quantizations(*inputs, *outputs)
        return elementwise.add_parameters(first, second, output, self.activation)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)

    def word_fields(self, node: Node) -> WordFields:
        return _of_addends(self.parameters(node.inputs, node.outputs))

    def to_c(self, node: Node, calls: Calls) -> None:
        settings, common = self.addend_fields(node)
        settings |= Fields(sign=self.sign) | scaling(common / (2**20 * scale_of(node.outputs[0])))
        settings |= range_of(node.outputs[0], self.activation)
        calls.call(node, "add", settings, node.inputs, node.outputs[0])


def _onnx_of_many(call: "OnnxCall", kind: str) -> list[Operation]:
    """Translate an operator with many inputs: it combines them one by one."""
    if len(call.inputs) == 1:
        return [call.make("identity")]
    made, last = [], call.inputs[0]
    for number, name in enumerate(call.inputs[1:], 1):
        output = call.outputs[0] if number == len(call.inputs) - 1 else call.inner(str(number))
        made.append(call.make(kind, (last, name), (output,)))
        last = output
    return made


@dataclass(frozen=True, kw_only=True)
class Add(Sum):
    row = Row("addition", PPU)
    name = "ADD"
    kind = "add"
    onnx = {"Add": lambda call: [call.make("add")], "Sum": lambda call: _onnx_of_many(call, "add")}
    microsoft, aten, relax = "QLinearAdd", "add", "add"
    operation = WordKind.ADD
    sign = 1

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.add(values[0], values[1], self.parameters(inputs, outputs)),)

    @staticmethod
    def real(operation: Operation, x: Values, y: Values) -> Values:
        return x + y


@dataclass(frozen=True, kw_only=True)
class Sub(Sum):
    row = Row("subtraction", PPU)
    name = "SUB"
    kind = "sub"
    onnx, aten, relax = "Sub", "sub", "subtract"
    operation = WordKind.SUB
    commutes = False
    sign = -1

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.sub(values[0], values[1], self.parameters(inputs, outputs)),)

    @staticmethod
    def real(operation: Operation, x: Values, y: Values) -> Values:
        return x - y


@dataclass(frozen=True, kw_only=True)
class SquaredDifference(Binary):
    row = Row("squared difference", PPU)
    library = "eyrie_arithmetic"
    name = "SQUARED_DIFFERENCE"
    operation = WordKind.SQUARED_DIFFERENCE

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        if call.unsigned:
            raise Unsupported("its tensors are uint8, for which TensorFlow Lite does not have it")
        return super().inputs(call)

    def parameters(self, inputs: Tensors, outputs: Tensors) -> elementwise.AddParameters:
        first, second, output = quantizations(*inputs, *outputs)
        return elementwise.square_parameters(first, second, output)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.squared_difference(values[0], values[1], self.parameters(inputs, outputs)),)

    def word_fields(self, node: Node) -> WordFields:
        return _of_addends(self.parameters(node.inputs, node.outputs))

    def to_c(self, node: Node, calls: Calls) -> None:
        settings, common = self.addend_fields(node)
        settings |= scaling(common**2 / (2**14 * scale_of(node.outputs[0]))) | range_of(node.outputs[0])
        calls.call(node, "squared_difference", settings, node.inputs, node.outputs[0])


def _onnx_power(call: "OnnxCall") -> list[Operation]:
    if not call.is_constant(1) or call.constant(1).size != 1 or float(call.constant(1).ravel()[0]) != 2:
        raise Unsupported("its power is not 2")
    return [call.make("mul", (call.inputs[0], call.inputs[0]))]


@dataclass(frozen=True, kw_only=True)
class Mul(Binary, FloatArithmetic):
    row = Row("multiplication, square", PPU)
    library = "eyrie_arithmetic"
    name = "MUL"
    schema_options = {"activation": "fusedActivationFunction"}
    kind = "mul"
    onnx = {"Mul": lambda call: [call.make("mul")], "Pow": _onnx_power}
    microsoft, aten, relax = "QLinearMul", "mul", "multiply"
    operation = WordKind.MUL

    activation: str = "NONE"

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)

    def parameters(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        first, second, output = quantizations(*inputs, *outputs)
        return elementwise.mul_requantization(first, second, output, self.activation, self.reference)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        zero_points = [scale.zero_point for scale in quantizations(*inputs)]
        return (elementwise.mul(values[0], values[1], zero_points, self.parameters(inputs, outputs)),)

    def word_fields(self, node: Node) -> WordFields:
        operands = [{"zero_point": scale.zero_point} for scale in quantizations(*node.inputs)]
        return operands, result_fields(self.parameters(node.inputs, node.outputs))

    def to_c(self, node: Node, calls: Calls) -> None:
        first, second, output = self.scales(node)
        settings = self.operand_fields(node) | self.zero_point_fields(node) | scaling(first * second / output)
        settings |= range_of(node.outputs[0], self.activation)
        calls.call(node, "mul", settings, node.inputs, node.outputs[0])

    @staticmethod
    def real(operation: Operation, x: Values, y: Values) -> Values:
        return x * y


class Division(FloatArithmetic):
    """A division by a constant for each channel."""

    row = Row("division by a constant", PPU)
    kind = "div"
    onnx, aten, relax = "Div", "div", "divide"

    @classmethod
    def with_activation(cls, activation: str) -> Operator:
        raise Unsupported("its divisor is not a constant per channel")

    @staticmethod
    def real(operation: Operation, x: Values, y: Values) -> Values:
        return x / y


@dataclass(frozen=True, kw_only=True)
class Choice(Binary):
    """MAXIMUM or MINIMUM, which compare codes, so that all operands have the result's scale."""

    row = Row("maximum, minimum", PPU)
    library = "eyrie_arithmetic"
    schema_table = "MaximumMinimumOptions"
    operands = 2
    clamps = False

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def word_fields(self, node: Node) -> WordFields:
        return [{}, {}], AS_IS | INT8

    def to_c(self, node: Node, calls: Calls) -> None:
        calls.call(node, self.kind, self.operand_fields(node), node.inputs, node.outputs[0])

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        tensors, axes, shape = operands_of_fold(fold, made, target.quantization)
        return fold.node(made.operation.where, cls(), tensors, shape, axes, target)


@dataclass(frozen=True, kw_only=True)
class Maximum(Choice):
    name = "MAXIMUM"
    kind = "maximum"
    onnx = {"Max": lambda call: _onnx_of_many(call, "maximum")}
    aten, relax = "maximum", "maximum"
    operation = WordKind.MAXIMUM

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.maximum(*values),)

    @staticmethod
    def real(operation: Operation, x: Values, y: Values) -> Values:
        return np.maximum(x, y)


@dataclass(frozen=True, kw_only=True)
class Minimum(Choice):
    name = "MINIMUM"
    kind = "minimum"
    onnx = {"Min": lambda call: _onnx_of_many(call, "minimum")}
    aten, relax = "minimum", "minimum"
    operation = WordKind.MINIMUM

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.minimum(*values),)

    @staticmethod
    def real(operation: Operation, x: Values, y: Values) -> Values:
        return np.minimum(x, y)

# SPDX-License-Identifier: Apache-2.0
"""Functions of one value that TensorFlow Lite has as operators."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.kernel_calls.scales import (
    multiplier_of,
    multiplier_of_16_bits,
    range_of,
    scale_of,
    scaling,
    to_integer_bits,
    zero_point_of,
)
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.kernel_calls.steps import Real as Number
from eyrie.compiler.kernel_calls.tables import FUNCTIONS, table_of
from eyrie.compiler.operators.float_functions import FloatFunction, sigmoid
from eyrie.compiler.operators.lookup import Function, call_function, call_table
from eyrie.compiler.operators.record import TABLE, Row
from eyrie.model.errors import InputError
from eyrie.model.operators import tables
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.reference import Reference

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

Values = np.ndarray
_ROW = Row("sigmoid, tanh, hard swish, ELU, exp, log, LeakyReLU", TABLE)


class NamedFunction(Function, FloatFunction):
    """A function without attributes in TensorFlow Lite."""

    row = _ROW

    @classmethod
    def of_library(cls, name: str, alpha: float) -> Function:
        return cls()

    @classmethod
    def near(cls, entries: np.ndarray, input_: Quantization, output: Quantization) -> Iterable[Function]:
        return (cls(),)

    def scales(self, node: Node) -> tuple[Number, Number]:
        """Return the scales of input and output, as the reference computes factors from them: uint8 in float32."""
        precision = np.float32 if self.unsigned else np.float64
        return precision(scale_of(node.inputs[0])), precision(scale_of(node.outputs[0]))


# ---- In fixed point, of uint8 in float32 ----


@dataclass(frozen=True, kw_only=True)
class Logistic(NamedFunction):
    library = "eyrie_activation"
    name = "LOGISTIC"
    kind = "sigmoid"
    onnx, microsoft, aten, relax = "Sigmoid", "QLinearSigmoid", "sigmoid", "sigmoid"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return sigmoid(x)

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        _expect_output(output, tables.LOGISTIC_OUTPUT)
        _expect_scale(input_, self.reference)
        return tables.logistic(input_, self.reference)

    def to_c(self, node: Node, calls: Calls) -> None:
        _call_in_q4(node, calls, self.name, "logistic", self.unsigned)


@dataclass(frozen=True, kw_only=True)
class Tanh(NamedFunction):
    library = "eyrie_activation"
    name = "TANH"
    kind = "tanh"
    onnx, aten, relax = "Tanh", "tanh", "tanh"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.tanh(x)

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        _expect_output(output, tables.TANH_OUTPUT)
        _expect_scale(input_, self.reference)
        return tables.tanh(input_, self.reference)

    def to_c(self, node: Node, calls: Calls) -> None:
        _call_in_q4(node, calls, self.name, "tangent", self.unsigned)


def _call_in_q4(node: Node, calls: Calls, function: str, kernel: str, unsigned: bool) -> None:
    """Add the call of a kernel in fixed point with 4 integer bits, or of a table for uint8."""
    if unsigned:
        call_table(node, calls, table_of(function, node.inputs[0], node.outputs[0]))
    else:
        multiplier, shift, radius = to_integer_bits(scale_of(node.inputs[0]), 4)
        call_function(node, calls, kernel, {"radius": radius, "multiplier": multiplier, "shift": shift})


def _expect_scale(input_: Quantization, reference: Reference) -> None:
    """Raise Unsupported if the fixed point of TensorFlow Lite Micro has no factor for an input's scale."""
    if reference == Reference.MICRO and input_.scale >= tables.FIXED_POINT_SCALES:
        raise Unsupported(
            f"its input has scale {input_.scale:g}, its fixed point takes less than {tables.FIXED_POINT_SCALES}",
            remedy="quantise its input with a smaller scale",
        )


def _expect_output(output: Quantization, wanted: Quantization) -> None:
    if output != wanted:
        raise InputError(
            f"its output has scale {output.scale:g} and zero point {output.zero_point}, "
            f"must be {wanted.scale:g} and {wanted.zero_point}"
        )


# ---- In fixed point ----


@dataclass(frozen=True, kw_only=True)
class HardSwish(NamedFunction):
    library = "eyrie_activation"
    name = "HARD_SWISH"
    version = 1
    kind = "hard_swish"
    onnx, aten = "HardSwish", "hardswish"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return x * np.clip(x / 6 + 0.5, 0, 1)

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.hard_swish(input_, output, self.reference)

    def to_c(self, node: Node, calls: Calls) -> None:
        input_, output = self.scales(node)
        three = type(input_)(3 / 32768)
        multiplier, exponent = multiplier_of_16_bits(input_ / 128 / output)
        gate_multiplier, gate_exponent = multiplier_of_16_bits(input_ / 128 / three)
        settings: Fields = {
            "multiplier": multiplier,
            "exponent": exponent,
            "gate_multiplier": gate_multiplier,
            "gate_exponent": gate_exponent,
            "output_zero_point": zero_point_of(node.outputs[0]),
        }
        call_function(node, calls, "hard_swish", settings)


# ---- In float32 ----


class RealFunction(NamedFunction):
    """A function that TensorFlow Lite evaluates in float32, as a table."""

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.of_function(self.name, input_, output)

    def to_c(self, node: Node, calls: Calls) -> None:
        if self.name in FUNCTIONS:
            call_table(node, calls, table_of(self.name, node.inputs[0], node.outputs[0]))
        else:
            super().to_c(node, calls)


def _onnx_elu(call: "OnnxCall") -> list[Operation]:
    return [call.make("elu", alpha=call.real("alpha", 1.0))]


def _aten_elu(call: "AtenCall") -> list[Operation]:
    call.expect(scale=1, input_scale=1)
    return [call.make("elu", call.source, alpha=call.number("alpha"))]


@dataclass(frozen=True, kw_only=True)
class Elu(RealFunction):
    library = "eyrie_activation"
    name = "ELU"
    version = 1
    kind = "elu"
    onnx = {"Elu": _onnx_elu}
    aten = {"elu": _aten_elu}

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.where(x < 0, operation.number("alpha", 1.0) * np.expm1(np.minimum(x, 0)), x)


@dataclass(frozen=True, kw_only=True)
class Exp(RealFunction):
    library = "eyrie_activation"
    name = "EXP"
    kind = "exp"
    onnx, aten, relax = "Exp", "exp", "exp"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.exp(x)


@dataclass(frozen=True, kw_only=True)
class Log(RealFunction):
    """LOG, whose result is the least one for values that have no logarithm."""

    name = "LOG"
    kind = "log"
    onnx, aten, relax = "Log", "log", "log"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.log(x)


# ---- With a factor on each side of zero ----


@dataclass(frozen=True, kw_only=True)
class Absolute(NamedFunction):
    row = Row("other functions of one value", TABLE)
    name = "ABS"
    kind = "abs"
    onnx, aten, relax = "Abs", "abs", "abs"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.abs(x)

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.absolute(input_, output)

    def to_c(self, node: Node, calls: Calls) -> None:
        factor = scale_of(node.inputs[0]) / scale_of(node.outputs[0])
        call_function(node, calls, "absolute", scaling(factor) | range_of(node.outputs[0]))


def _onnx_leaky_relu(call: "OnnxCall") -> list[Operation]:
    return [call.make("leaky_relu", alpha=call.real("alpha", 0.01))]


def _onnx_leaky_relu_of_codes(call: "OnnxCall") -> list[Operation]:
    return call.between(lambda x, made: [call.make("leaky_relu", (x,), (made,), alpha=call.real("alpha", 0.01))])


def _aten_leaky_relu(call: "AtenCall") -> list[Operation]:
    return [call.make("leaky_relu", call.source, alpha=call.number("negative_slope"))]


def _relax_leaky_relu(call: "RelaxCall") -> list[Operation]:
    return [call.make("leaky_relu", call.operand(0), alpha=call.real("alpha"))]


@dataclass(frozen=True, kw_only=True)
class LeakyRelu(NamedFunction):
    """LEAKY_RELU. alpha: the slope of negative values"""

    library = "eyrie_activation"
    name = "LEAKY_RELU"
    schema_options = {"alpha": "alpha"}
    kind = "leaky_relu"
    onnx = {"LeakyRelu": _onnx_leaky_relu}
    microsoft = {"QLinearLeakyRelu": _onnx_leaky_relu_of_codes}
    aten = {"leaky_relu": _aten_leaky_relu}
    relax = {"nn.leakyrelu": _relax_leaky_relu}

    alpha: float

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.where(x < 0, operation.number("alpha", 0.01) * x, x)

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        if not np.isfinite(self.alpha):
            raise InputError(f"a slope is finite, got {self.alpha:g}")
        return tables.leaky_relu(input_, output, self.alpha, self.reference)

    @classmethod
    def of_library(cls, name: str, alpha: float) -> Function:
        return cls(alpha=alpha)

    @classmethod
    def near(cls, entries: np.ndarray, input_: Quantization, output: Quantization) -> Iterator[Function]:
        """Yield LeakyRelus of the slope of the entries of negative values, with few digits first."""
        x = (tables.VALUES - input_.zero_point) * input_.scale
        y = (entries.astype(int) - output.zero_point) * output.scale
        inside = (x < 0) & (entries > -128) & (entries < 127)
        if not inside.any():
            return
        slope = float((x * y)[inside].sum() / (x * x)[inside].sum())
        if slope > 0:
            yield from (cls(alpha=float(f"{slope:.{digits}g}")) for digits in (1, 2, 3, 8))

    def to_c(self, node: Node, calls: Calls) -> None:
        input_, output = self.scales(node)
        rounded = np.float32(self.alpha)
        slope: Number = rounded if self.unsigned else np.float64(rounded)
        factor = input_ * slope / output
        multiplier, shift = multiplier_of(abs(float(factor)))
        negative: Fields = {"negative_multiplier": -multiplier if factor < 0 else multiplier, "negative_shift": shift}
        settings = scaling(input_ / output, "positive_") | negative | range_of(node.outputs[0])
        call_function(node, calls, "leaky_relu", settings)

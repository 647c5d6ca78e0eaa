# SPDX-License-Identifier: Apache-2.0
"""Functions of one value that only ONNX, PyTorch or TVM have as operators.

An elementwise function of a single quantised tensor becomes one table of 256 entries. It rounds as the framework does
at its QUANTIZE.
"""

from math import erf
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.operators.record import TABLE, FloatOperator, Row

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

Values = np.ndarray
_erf = np.vectorize(erf, otypes=[float])


def sigmoid(x: Values) -> Values:
    return np.exp(-np.logaddexp(0, -x))


class FloatFunction(FloatOperator):
    """A function of one value, or an elementwise function of a value and constants."""

    row = Row("other functions of one value", TABLE)

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Raise Unsupported: `real` makes the table of a function of a single tensor."""
        fold.operand(made.inputs[0])
        raise Unsupported("it takes several tensors, or constants for each channel")


class Negative(FloatFunction):
    kind = "neg"
    onnx, aten, relax = "Neg", "neg", "negative"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return -x


class SquareRoot(FloatFunction):
    kind = "sqrt"
    onnx, aten, relax = "Sqrt", "sqrt", "sqrt"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.sqrt(x)


class Erf(FloatFunction):
    kind = "erf"
    onnx, aten, relax = "Erf", "erf", "erf"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return _erf(x)


def _onnx_gelu(call: "OnnxCall") -> list[Operation]:
    return [call.make("gelu", approximate=call.text("approximate", "none"))]


def _aten_gelu(call: "AtenCall") -> list[Operation]:
    return [call.make("gelu", call.source, approximate=str(call["approximate"]))]


def _relax_gelu(call: "RelaxCall") -> list[Operation]:
    return [call.make("gelu", call.operand(0), approximate="none")]


def _relax_gelu_tanh(call: "RelaxCall") -> list[Operation]:
    return [call.make("gelu", call.operand(0), approximate="tanh")]


class Gelu(FloatFunction):
    kind = "gelu"
    microsoft = {"Gelu": _onnx_gelu}
    aten = {"gelu": _aten_gelu}
    relax = {"nn.gelu": _relax_gelu, "nn.gelu_tanh": _relax_gelu_tanh}

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        if operation.text("approximate", "none") == "tanh":
            return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        return 0.5 * x * (1 + _erf(x / np.sqrt(2)))


def _onnx_hard_sigmoid(call: "OnnxCall") -> list[Operation]:
    return [call.make("hard_sigmoid", alpha=call.real("alpha", 0.2), beta=call.real("beta", 0.5))]


class HardSigmoid(FloatFunction):
    kind = "hard_sigmoid"
    onnx = {"HardSigmoid": _onnx_hard_sigmoid}
    aten = "hardsigmoid"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.clip(operation.number("alpha", 1 / 6) * x + operation.number("beta", 0.5), 0, 1)


def _aten_softplus(call: "AtenCall") -> list[Operation]:
    call.expect(beta=1)
    return [call.make("softplus", call.source, threshold=call.number("threshold"))]


def _relax_softplus(call: "RelaxCall") -> list[Operation]:
    call.expect(beta=1.0)
    return [call.make("softplus", call.operand(0), threshold=call.real("threshold"))]


class Softplus(FloatFunction):
    kind = "softplus"
    onnx = "Softplus"
    aten = {"softplus": _aten_softplus}
    relax = {"nn.softplus": _relax_softplus}

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return np.where(x > operation.number("threshold", np.inf), x, np.logaddexp(0, x))


class Mish(FloatFunction):
    kind = "mish"
    onnx, aten = "Mish", "mish"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return x * np.tanh(np.logaddexp(0, x))


class Silu(FloatFunction):
    kind = "silu"
    aten, relax = "silu", "nn.silu"

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return x * sigmoid(x)


# ---- No operation ----


def _onnx_dropout(call: "OnnxCall") -> list[Operation]:
    if len([name for name in call.outputs if name]) > 1:
        raise Unsupported("its mask is used")
    if call.has(2) and call.constant(2).any():
        raise Unsupported("it is in training mode")
    return [call.make("identity", call.inputs[:1], call.outputs[:1])]


def _onnx_cast(call: "OnnxCall") -> list[Operation]:
    """Translate Cast to float32 of a float32 value or a constant."""
    if call.whole("to", 0) != 1:
        raise Unsupported("it casts to another type than float32")
    return [call.make("identity")]


def _aten_identity(call: "AtenCall") -> list[Operation]:
    if call.arguments.get("train"):
        raise Unsupported("it is in training mode: call model.eval() first")
    return [call.make("identity", call.source)]


class Identity(FloatFunction):
    row = Row("no operation", "removed")
    kind = "identity"
    onnx = {"Identity": lambda call: [call.make("identity")], "Dropout": _onnx_dropout, "Cast": _onnx_cast}
    aten = dict.fromkeys(("dropout", "contiguous", "clone", "detach", "alias"), _aten_identity)
    takes_codes = keeps_scale = True

    @staticmethod
    def real(operation: Operation, x: Values) -> Values:
        return x

    @staticmethod
    def arrays(operation: Operation, x: Values) -> list[Values]:
        return [x]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        return fold.emit(made.inputs[0], target)

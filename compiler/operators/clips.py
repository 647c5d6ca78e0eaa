# SPDX-License-Identifier: Apache-2.0
"""RELU, RELU6 and RELU_N1_TO_1, and other clamps of ONNX, PyTorch and TVM."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target, int8_codes
from eyrie.compiler.kernel_calls.scales import range_of, scale_of, scaling
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.lookup import Function, call_function
from eyrie.compiler.operators.record import FloatOperator, Row
from eyrie.model.operators import tables
from eyrie.model.operators.quantization import ACTIVATIONS, Quantization, activation_range
from eyrie.model.operators.tables import VALUES

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

_ROW = Row("ReLU and clamps", "epilogue of the layer before it, or PPU")


def _bounds(operation: Operation) -> tuple[float, float]:
    """Return the bounds of relu or clip."""
    if operation.kind == "relu":
        return 0.0, np.inf
    return operation.number("minimum", -np.inf), operation.number("maximum", np.inf)


def _named(operation: Operation) -> str | None:
    """Return the activation of ACTIVATIONS that a relu or clip is equal to, None if no activation is equal."""
    wanted = _bounds(operation)
    for name, (low, high) in ACTIVATIONS.items():
        if wanted == (-np.inf if low is None else low, np.inf if high is None else high):
            return name
    return None


class FloatClip(FloatOperator):
    """relu or clip."""

    row = _ROW
    keeps_scale = True

    @staticmethod
    def real(operation: Operation, x: np.ndarray) -> np.ndarray:
        return np.clip(x, *_bounds(operation))

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the result on a value that is not quantised.

        The operator before it applies the activation if it can; otherwise, the codes are clamped.
        """
        (inner,) = made.inputs
        low, high = (int(int8_codes(np.array(bound), target.quantization)) for bound in _bounds(made.operation))
        if (low, high) == (-128, 127):
            return fold.emit(inner, target)
        activation = _named(made.operation)
        if activation and target.activation == "NONE" and isinstance(inner, Made):
            return fold.emit(inner, Target(target.quantization, target.name, activation=activation))
        plain = fold.emit(inner, Target(target.quantization, inner.name if isinstance(inner, Made) else target.name))
        entries = np.clip(np.clip(VALUES, low, high), *activation_range(target.activation, target.quantization))
        return fold.lookup(made.operation, plain, entries.astype(np.int8), target)


@dataclass(frozen=True, kw_only=True)
class Relu(Function, FloatClip):
    """RELU, RELU6 or RELU_N1_TO_1, by `activation`."""

    library = "eyrie_activation"
    tflite = ("RELU", "RELU6", "RELU_N1_TO_1")
    versions = {"RELU_N1_TO_1": 1}
    kind = "relu"
    onnx, aten, relax = "Relu", "relu", "nn.relu"

    activation: str

    @property
    def name(self) -> str:
        return self.activation

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        return {"activation": call.name, **super().read_attributes(call)}

    @classmethod
    def of_library(cls, name: str, alpha: float) -> Function:
        return cls(activation=name)

    @classmethod
    def near(cls, entries: np.ndarray, input_: Quantization, output: Quantization) -> Iterable[Function]:
        return cls(activation="RELU"), cls(activation="RELU6")

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.relu(input_, output, self.activation, self.reference)

    def to_c(self, node: Node, calls: Calls) -> None:
        """Add the call of a kernel; RELU6 and RELU_N1_TO_1 are LiteRT's, with factors in float32."""
        precision = np.float32 if self.unsigned or self.activation != "RELU" else np.float64
        input_, output = precision(scale_of(node.inputs[0])), precision(scale_of(node.outputs[0]))
        settings = scaling(input_ / output) | range_of(node.outputs[0], self.activation)
        call_function(node, calls, "scale_values", settings)


def _onnx(call: "OnnxCall") -> list[Operation]:
    return [call.make("clip", call.inputs[:1], minimum=call.number("min", 1), maximum=call.number("max", 2))]


def _aten(low: str, high: str) -> Callable[["AtenCall"], list[Operation]]:
    def translate(call: "AtenCall") -> list[Operation]:
        bounds = {
            own: call.number(name) for own, name in (("minimum", low), ("maximum", high)) if name and call.given(name)
        }
        return [call.make("clip", call.source, **bounds)]

    return translate


def _aten_relu6(call: "AtenCall") -> list[Operation]:
    return [call.make("clip", call.source, minimum=0.0, maximum=6.0)]


def _relax(call: "RelaxCall") -> list[Operation]:
    low, high = call.operand(1), call.operand(2)
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise Unsupported("its bounds are no numbers")
    return [call.make("clip", call.operand(0), minimum=float(low), maximum=float(high))]


def _relax_relu6(call: "RelaxCall") -> list[Operation]:
    return [call.make("clip", call.operand(0), minimum=0.0, maximum=6.0)]


class Clip(FloatClip):
    """A clamp between any two numbers."""

    kind = "clip"
    onnx = {"Clip": _onnx}
    aten = {
        "relu6": _aten_relu6,
        "hardtanh": _aten("min_val", "max_val"),
        "clamp": _aten("min", "max"),
        "clamp_min": _aten("min", ""),
        "clamp_max": _aten("", "max"),
    }
    relax = {"nn.relu6": _relax_relu6, "clip": _relax}

    @classmethod
    def keeps(cls, operation: Operation, scale: Quantization) -> bool:
        """Return whether the bounds are values of codes, or outside the range of codes."""
        steps = np.array([bound / scale.scale + scale.zero_point for bound in _bounds(operation)])
        return all(abs(step - np.rint(step)) < 1e-3 or not -128 < step < 127 for step in steps)

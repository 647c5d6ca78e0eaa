# SPDX-License-Identifier: Apache-2.0
"""Local response normalisation."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Operator, Tensors, expect, int8, only, quantizations
from eyrie.compiler.ir.tensor import Form, Quantized, QuantizedConstant, Tensor
from eyrie.compiler.operators.convolution import Conv2D
from eyrie.compiler.operators.elementwise import Mul
from eyrie.compiler.operators.functions import Exp, Log
from eyrie.compiler.operators.record import ARRAY, Record, Row
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Quantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.writer import File

LEVELS = INT8_MAX - INT8_MIN
MOST_BIAS = 1 << 30  # the sums need as much beside it
MOST_EXPONENT = 99.0  # whose power is beyond float32


@dataclass(frozen=True, kw_only=True)
class LocalResponseNormalization(Record):
    """Local response normalisation (Krizhevsky et al., 2012): y = x / (k + alpha * sums) ^ beta. The sums are the
    squares of the values of the channels from c - radius to c + radius.

    In int8 it is six operators of TensorFlow Lite: MUL (squares), CONV_2D (k + alpha * sums), LOG, MUL and EXP (the
    power), MUL. The scale of each result covers all values that it can have: k must not be small beside a 255th of
    alpha times the largest sum. Alpha is not divided by the number of channels.

    radius is at least 1; alpha, beta and k are positive, and rounded to float32. Raise InputError for other values.
    """

    row = Row("local response normalisation", ARRAY)
    library = "eyrie_local_response_normalization"
    name = "LOCAL_RESPONSE_NORMALIZATION"
    tflite = ()
    constraints = ()

    radius: int
    alpha: float
    beta: float
    k: float

    def __post_init__(self) -> None:
        if self.radius < 1:
            raise InputError(f"radius = {self.radius}: must be at least 1")
        for name in ("alpha", "beta", "k"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int8", rank=4).shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.expanded(Node(self, "", inputs, outputs))

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        known = dict(zip((tensor.name for tensor in inputs), values, strict=True))
        for node in self.expanded(Node(self, "", inputs, outputs)):
            given = (
                tensor.data if isinstance(tensor, QuantizedConstant) else known[tensor.name] for tensor in node.inputs
            )
            (known[node.outputs[0].name],) = node.operator.run(tuple(given), node.inputs, node.outputs)
        return (known[outputs[0].name],)

    def write(self, node: Node, file: "File") -> None:
        for each in self.expanded(node):
            file.write(each)

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the six operators. Raise InputError for values beyond int32 or float32."""
        (source,), (output,), nodes = node.inputs, node.outputs, list[Node]()
        (scale,) = quantizations(source)

        def add(operator: Operator, part: str, made: Quantization, *inputs: Tensor) -> Tensor:
            tensor = Quantized(name=f"{output.name}#{part}", shape=source.shape, dtype="int8", quantization=made)
            nodes.append(replace(node, operator=operator, inputs=inputs, outputs=(tensor,)))
            return tensor

        most = scale.scale * max(INT8_MAX - scale.zero_point, scale.zero_point - INT8_MIN)
        largest = self.k + self.alpha * min(2 * self.radius + 1, source.shape[3]) * most**2
        ends = np.log([self.k, largest])
        squares = _covering(0, most**2)
        beta = QuantizedConstant(
            name=f"{output.name}#beta",
            shape=(1, 1, 1, 1),
            dtype="int8",
            data=np.full((1, 1, 1, 1), -INT8_MAX, np.int8),
            quantization=Quantization(self.beta / INT8_MAX, 0),
        )
        sums = self._sums(source.shape[3], squares.scale)
        made = add(Mul(), "squares", squares, source, source)
        made = add(sums, "sums", _covering(0, largest), made)
        made = add(Log(), "logarithms", _covering(*ends), made)
        made = add(Mul(), "exponents", _covering(*-self.beta * ends[::-1]), made, beta)
        made = add(Exp(), "factors", _covering(0, np.exp(min(-self.beta * ends[0], MOST_EXPONENT))), made)
        return *nodes, replace(node, operator=Mul(), inputs=(source, made))

    def _sums(self, channels: int, scale: float) -> Conv2D:
        """Return the convolution that makes k + alpha * sums. scale: of the squares"""
        places, bias = np.arange(channels), self.k / scale / self.alpha
        if not bias < MOST_BIAS:
            raise InputError(f"k = {self.k:g} is too large for alpha = {self.alpha:g} and the scale of the values")
        near = abs(places[:, None] - places) <= self.radius
        return Conv2D(
            filters=near.astype(np.int8).reshape(channels, 1, 1, channels),
            scales=np.full(channels, self.alpha, np.float32),
            bias=np.full(channels, round(bias), np.int32),
        )


def _positive(name: str, value: float) -> float:
    """Return a number, rounded to float32. Raise InputError unless it is positive and finite there."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(np.float32(value))
    if not 0 < rounded < np.inf:
        raise InputError(f"{name} = {value:g}: must be positive and finite in float32")
    return rounded


def _covering(least: float, largest: float) -> Quantization:
    """Return the scale and zero point of values between two, and of zero."""
    least, largest = min(least, 0.0), max(largest, 0.0)
    scale = _positive(f"the scale of values from {least:g} to {largest:g}", (largest - least) / LEVELS)
    return Quantization(scale, round(INT8_MIN - least / scale))

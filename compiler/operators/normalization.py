# SPDX-License-Identifier: Apache-2.0
"""Local response normalisation."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Tensors, expect, int8, only, quantizations
from eyrie.compiler.ir.tensor import Form, QuantizedConstant
from eyrie.compiler.operators.chains import Chain, Nodes, covering, ends_of, positive
from eyrie.compiler.operators.convolution import Conv2D
from eyrie.compiler.operators.elementwise import Mul
from eyrie.compiler.operators.functions import Exp, Log
from eyrie.compiler.operators.record import ARRAY, Row
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import INT8_MAX, Quantization

MOST_BIAS = 1 << 30  # the sums need as much beside it
MOST_EXPONENT = 99.0  # whose power is beyond float32


@dataclass(frozen=True, kw_only=True)
class LocalResponseNormalization(Chain):
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

    radius: int
    alpha: float
    beta: float
    k: float

    def __post_init__(self) -> None:
        if self.radius < 1:
            raise InputError(f"radius = {self.radius}: must be at least 1")
        for name in ("alpha", "beta", "k"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int8", rank=4).shape)

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the six operators. Raise InputError for values beyond int32 or float32."""
        (source,), (output,), nodes = node.inputs, node.outputs, Nodes(node)
        (scale,) = quantizations(source)
        most = max(map(abs, ends_of(scale)))
        largest = self.k + self.alpha * min(2 * self.radius + 1, source.shape[3]) * most**2
        ends = np.log([self.k, largest])
        squares = covering(0, most**2)
        beta = QuantizedConstant(
            name=f"{output.name}#beta",
            shape=(1, 1, 1, 1),
            dtype="int8",
            data=np.full((1, 1, 1, 1), -INT8_MAX, np.int8),
            quantization=Quantization(self.beta / INT8_MAX, 0),
        )
        sums = self._sums(source.shape[3], squares.scale)
        made = nodes.add(Mul(), "squares", squares, source, source)
        made = nodes.add(sums, "sums", covering(0, largest), made)
        made = nodes.add(Log(), "logarithms", covering(*ends), made)
        made = nodes.add(Mul(), "exponents", covering(*-self.beta * ends[::-1]), made, beta)
        made = nodes.add(Exp(), "factors", covering(0, np.exp(min(-self.beta * ends[0], MOST_EXPONENT))), made)
        nodes.end(Mul(), output, source, made)
        return nodes.all()

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

# SPDX-License-Identifier: Apache-2.0
"""Functions of one value, each a table of 256 entries."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators.operator import Arrays, Operator, Tensors, expect, int8, only, quantizations
from eyrie.compiler.ir.tensor import Form
from eyrie.model.errors import InputError
from eyrie.model.operators import tables
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.reference import Reference


@dataclass(frozen=True, kw_only=True)
class Function(Operator):
    """A function of one value. unsigned: the model has it in uint8, which only LiteRT supports"""

    unsigned: bool = False

    @property
    def reference(self) -> Reference:
        return Reference.LITERT if self.unsigned else Reference.MICRO

    @abstractmethod
    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        """Return int8 [256]: entry q + 128 is the result of q."""

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int8").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.table(*quantizations(*inputs, *outputs))

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (tables.apply(self.table(*quantizations(*inputs, *outputs)), values[0]),)


@dataclass(frozen=True, kw_only=True)
class Lookup(Function):
    """A table. entries: int8 [256], as in `table`"""

    name = "TABLE"
    entries: np.ndarray

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return self.entries


@dataclass(frozen=True, kw_only=True)
class Requantize(Function):
    """QUANTIZE from one scale to another."""

    name = "QUANTIZE"

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.rescale(input_, output)


@dataclass(frozen=True, kw_only=True)
class Relu(Function):
    """RELU, RELU6 or RELU_N1_TO_1, by `activation`."""

    activation: str

    @property
    def name(self) -> str:
        return self.activation

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.relu(input_, output, self.activation, self.reference)


@dataclass(frozen=True, kw_only=True)
class LeakyRelu(Function):
    """LEAKY_RELU. alpha: the slope of negative values"""

    name = "LEAKY_RELU"
    alpha: float

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        if not np.isfinite(self.alpha):
            raise InputError(f"a slope is finite, got {self.alpha:g}")
        return tables.leaky_relu(input_, output, self.alpha, self.reference)


@dataclass(frozen=True, kw_only=True)
class Absolute(Function):
    name = "ABS"

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.absolute(input_, output)


@dataclass(frozen=True, kw_only=True)
class Logistic(Function):
    name = "LOGISTIC"

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        _expect_output(output, tables.LOGISTIC_OUTPUT)
        _expect_scale(input_, self.reference)
        return tables.logistic(input_, self.reference)


@dataclass(frozen=True, kw_only=True)
class Tanh(Function):
    name = "TANH"

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        _expect_output(output, tables.TANH_OUTPUT)
        _expect_scale(input_, self.reference)
        return tables.tanh(input_, self.reference)


@dataclass(frozen=True, kw_only=True)
class HardSwish(Function):
    name = "HARD_SWISH"

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.hard_swish(input_, output, self.reference)


@dataclass(frozen=True, kw_only=True)
class Real(Function):
    """ELU or EXP, by `function`, evaluated in float32."""

    function: str

    @property
    def name(self) -> str:
        return self.function

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.of_function(self.function, input_, output)


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

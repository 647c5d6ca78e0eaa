# SPDX-License-Identifier: Apache-2.0
"""Values during the walk through a network: codes, or float values that are pending until a QUANTIZE reads them."""

from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, UINT8_OFFSET, Quantization

CODES = ("int8", "uint8")  # types of codes of activations and weights


@dataclass(frozen=True, eq=False)
class Held:
    """A tensor of the Graph.

    Axis n of the framework's value is axis axes[n] of the tensor. unsigned: the framework has the tensor as uint8
    """

    tensor: Tensor
    axes: tuple[int, ...]
    unsigned: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape in the framework's order."""
        return tuple(self.tensor.shape[axis] for axis in self.axes)

    @property
    def quantization(self) -> Quantization:
        assert isinstance(self.tensor, Quantized)
        return self.tensor.quantization


@dataclass(frozen=True, eq=False)
class Scale:
    """A scale: float64, and a zero point: int64. Each is one value, or one per entry of the axis."""

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int | None = None

    def along(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scale and zero point, broadcast to an array of `rank` axes."""
        if self.axis is None:
            return self.scale.reshape(()), self.zero_point.reshape(())
        shape = tuple(-1 if n == self.axis % rank else 1 for n in range(rank))
        return self.scale.reshape(shape), self.zero_point.reshape(shape)


@dataclass(frozen=True, eq=False)
class Codes:
    """A constant of integers, not yet dequantised."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


@dataclass(frozen=True, eq=False)
class Given:
    """A float tensor of the Graph."""

    held: Held

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape


@dataclass(frozen=True, eq=False)
class Scaled:
    """The float value of int8 codes."""

    held: Held

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape


@dataclass(frozen=True, eq=False)
class Coded:
    """Integers, and their scale."""

    codes: np.ndarray
    scale: Scale


@dataclass(frozen=True, eq=False)
class Known:
    """A constant. values: float64; coded: the codes and the scale from which it was dequantised"""

    values: np.ndarray
    coded: Coded | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


@dataclass(frozen=True, eq=False)
class Made:
    """The pending result of an operator. number: of the output"""

    operation: Operation
    inputs: tuple["Real", ...]
    shape: tuple[int, ...]
    number: int = 0

    @property
    def kind(self) -> str:
        return self.operation.kind

    @property
    def name(self) -> str:
        return self.operation.outputs[self.number]


Real = Given | Scaled | Known | Made  # a float value
Value = Real | Held | Codes


@dataclass(frozen=True)
class Target:
    """The form in which a float value is needed: scale, name of the tensor, and an activation of ACTIVATIONS before
    that."""

    quantization: Quantization
    name: str
    unsigned: bool = False
    activation: str = field(default="NONE")


def dequantised(codes: np.ndarray, scale: Scale) -> Known:
    by, zero = scale.along(codes.ndim)
    return Known((codes.astype(np.int64) - zero) * by, Coded(codes, scale))


def quantised(values: np.ndarray, scale: Scale, low: int, high: int) -> np.ndarray:
    """Return integers, rounded to nearest, ties to even. The quotient is computed in float32, as frameworks do."""
    by, zero = scale.along(values.ndim)
    with np.errstate(over="ignore", invalid="ignore"):  # the code of a value that is no number is open
        steps = np.rint(values.astype(np.float32) / by.astype(np.float32)).astype(np.float64)
    return np.clip(steps + zero, low, high).astype(np.int64)


def int8_codes(values: np.ndarray, to: Quantization) -> np.ndarray:
    """Return the int8 codes of float values."""
    scale = Scale(np.array(to.scale, np.float64), np.array(to.zero_point, np.int64))
    return quantised(np.asarray(values), scale, INT8_MIN, INT8_MAX).astype(np.int8)


def offset(dtype: str) -> int:
    """Return the offset between codes of a type and the int8 codes that represent them."""
    return UINT8_OFFSET if dtype == "uint8" else 0


def leaves(value: Real | Codes) -> list[Given | Scaled]:
    """Return the values from which a value is computed, without constants."""
    if isinstance(value, Made):
        return [leaf for each in value.inputs for leaf in leaves(each)]
    return [] if isinstance(value, (Known, Codes)) else [value]

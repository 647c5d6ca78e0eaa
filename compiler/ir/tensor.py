# SPDX-License-Identifier: Apache-2.0
"""Tensors: the inputs and outputs of nodes."""

from dataclasses import dataclass
from math import prod

import numpy as np

from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization


@dataclass(frozen=True)
class Form:
    """The type of an array, by NumPy's name, and its shape."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {times(self.shape)}" if self.shape else f"one {self.dtype}"


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """A named array; its shape is the model's, with the batch."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def form(self) -> Form:
        return Form(self.dtype, self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, kw_only=True)
class Quantized(Tensor):
    """A tensor of real numbers, quantised per tensor.

    unsigned  the model has it as uint8: values and zero point are 128 larger
    """

    quantization: Quantization
    unsigned: bool = False

    @property
    def zero_point(self) -> int:
        return self.quantization.zero_point

    def __str__(self) -> str:
        scaled = f"{self.quantization.scale:.6g}/{self.quantization.zero_point}"
        return f"{super().__str__()} {scaled}{' unsigned' if self.unsigned else ''}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Constant(Tensor):
    """A tensor with constant values. data: an array of its shape and type"""

    data: np.ndarray

    def check(self) -> None:
        """Raise InputError if the values are of another type or shape."""
        if (found := Form(self.data.dtype.name, self.data.shape)) != self.form:
            raise InputError(f"the constant {self.name} is {self.form}, its values are {found}")

    def __str__(self) -> str:
        return f"constant {super().__str__()}"


@dataclass(frozen=True, kw_only=True, eq=False)
class QuantizedConstant(Constant, Quantized):
    """A constant operand of quantised values."""

# SPDX-License-Identifier: Apache-2.0
"""The base class of all operators."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass

import numpy as np

from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization

NO_OPERATOR = "the accelerator has no such operator"

Arrays = tuple[np.ndarray, ...]
Tensors = tuple[Tensor, ...]


class Operator:
    """The operator of a node: a frozen dataclass of its attributes."""

    @property
    def name(self) -> str:
        """Return the name of the operator in TensorFlow Lite."""
        raise NotImplementedError

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        """Return types and shapes of the outputs. Raise InputError if the inputs do not fit."""
        raise NotImplementedError

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        """Raise InputError if scales and zero points do not fit together."""

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        """Run the golden model: return the output arrays for input arrays."""
        raise NotImplementedError

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        """Return the MACs of weights, padding included."""
        return 0

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        """Return the number of element operations: the number of output values, unless a subclass overrides it."""
        return sum(tensor.size for tensor in outputs)

    def __str__(self) -> str:
        """Return the attributes that differ from their defaults."""
        return "  ".join(
            f"{field.name} {_text(value)}"
            for field, value in _attributes(self)
            if field.default is MISSING or np.any(value != field.default)
        )


def _attributes(operator: object) -> Iterator[tuple[Field, object]]:
    """Yield the fields with their values."""
    assert is_dataclass(operator) and not isinstance(operator, type)
    return ((field, getattr(operator, field.name)) for field in fields(operator))


def _text(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return " ".join(map(_text, value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class Unknown(Operator):
    """An operator that the compiler does not support. reason: why"""

    operator: str
    reason: str

    @property
    def name(self) -> str:
        return self.operator

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        return ()

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        raise NotImplementedError(f"{self.operator}: {self.reason}")


def only(inputs: Tensors, count: int = 1) -> Tensors:
    """Return the inputs, which must be `count`."""
    if len(inputs) != count:
        raise InputError(f"takes {count} tensors, has {len(inputs)}")
    return inputs


def quantized(tensor: Tensor) -> Quantized:
    """Return the tensor, which must be quantised."""
    if not isinstance(tensor, Quantized):
        raise InputError(f"tensor {tensor.name} is without scale")
    return tensor


def quantizations(*tensors: Tensor) -> tuple[Quantization, ...]:
    """Return the quantisations of tensors, which must be quantised."""
    return tuple(quantized(tensor).quantization for tensor in tensors)


def check_same(*tensors: Tensor) -> None:
    """Raise InputError unless all have one scale and one zero point."""
    if len(set(quantizations(*tensors))) > 1:
        raise InputError("input and output differ in their scale or zero point")


def int8(shape: tuple[int, ...]) -> tuple[Form]:
    """Return the form of a single int8 output."""
    return (Form("int8", tuple(int(size) for size in shape)),)


def expect(tensor: Tensor, dtype: str, rank: int | None = None) -> Tensor:
    """Return the tensor, which must have this type and, if given, this number of axes."""
    if tensor.dtype != dtype or rank not in (None, len(tensor.shape)):
        wanted = dtype if rank is None else f"{dtype} with {rank} axes"
        raise InputError(f"tensor {tensor.name} is {tensor.form}, must be {wanted}")
    return tensor


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < rank:
        raise InputError(f"axis {axis} of a tensor of {rank} axes")
    return axis % rank

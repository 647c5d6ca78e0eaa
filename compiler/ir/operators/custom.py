# SPDX-License-Identifier: Apache-2.0
"""Custom operators: the user's functions."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.ir.operators.operator import Arrays, Operator, Tensors
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.messages import array
from eyrie.model.operators.quantization import from_uint8, to_uint8


@dataclass(frozen=True, kw_only=True)
class Custom(Operator):
    """A custom operator. function: takes arrays as the model's file has them, and `options`, bytes; returns one or
    several arrays"""

    operator: str
    function: Callable = field(compare=False)
    options: bytes = b""

    @property
    def name(self) -> str:
        return self.operator

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        """Return no types and shapes: the file gives them."""
        return ()

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        """Run the function. Raise InputError, with one line, if it fails or its result differs from the file's types or
        shapes."""
        taken = (to_uint8(value) if _unsigned(tensor) else value for tensor, value in zip(inputs, values))
        try:
            made = self.function(*taken, options=self.options)
        except Exception as error:  # the user's function can raise any error
            raise InputError(f"custom operator {self.operator}: {type(error).__name__}: {error}") from error
        made = tuple(np.asarray(value) for value in (made if isinstance(made, tuple | list) else (made,)))
        wanted = [Form("uint8" if _unsigned(tensor) else tensor.dtype, tensor.shape) for tensor in outputs]
        if [Form(str(value.dtype), value.shape) for value in made] != wanted:
            raise InputError(
                f"custom operator {self.operator}: its function gives {', '.join(map(array, made))}, the "
                f"model says {', '.join(map(str, wanted))}"
            )
        return tuple(from_uint8(value) if _unsigned(tensor) else value for tensor, value in zip(outputs, made))

    def __str__(self) -> str:
        return f"options {len(self.options)} bytes" if self.options else ""


def _unsigned(tensor: Tensor) -> bool:
    return isinstance(tensor, Quantized) and tensor.unsigned

# SPDX-License-Identifier: Apache-2.0
"""Operators that code outside Eyrie computes: they take and give values as the model's file has them."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyrie.compiler.ir.operator import Arrays, Tensors
from eyrie.compiler.ir.tensor import Form, Quantized
from eyrie.compiler.operators.record import Record
from eyrie.model.errors import InputError
from eyrie.model.messages import array
from eyrie.model.operators.quantization import from_uint8, to_uint8


@dataclass(frozen=True, kw_only=True)
class Foreign(Record):
    """An operator with the name `operator`.

    unsigned_inputs, unsigned_outputs  the tensors, by number, that the file has as uint8, and a Graph as int8
    """

    tflite = ()

    operator: str
    unsigned_inputs: tuple[int, ...] = ()
    unsigned_outputs: tuple[int, ...] = ()

    def between(self, inputs: Tensors, outputs: Tensors) -> "Foreign":
        """Return the operator for tensors of a file."""
        taken, made = (
            tuple(n for n, tensor in enumerate(side) if isinstance(tensor, Quantized) and tensor.unsigned)
            for side in (inputs, outputs)
        )
        return replace(self, unsigned_inputs=taken, unsigned_outputs=made)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        """Return no types and shapes: the file gives them."""
        return ()

    @property
    @abstractmethod
    def who(self) -> str:
        """Return what computes the values, for messages."""

    @abstractmethod
    def compute(self, values: Arrays) -> Sequence[np.ndarray]:
        """Return the outputs. Raise InputError, with one line."""

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        """Compute. Raise InputError if the result has other types or shapes than the file says."""
        taken = tuple(to_uint8(value) if n in self.unsigned_inputs else value for n, value in enumerate(values))
        made = self.compute(taken)
        wanted = [
            Form("uint8" if n in self.unsigned_outputs else tensor.dtype, tensor.shape)
            for n, tensor in enumerate(outputs)
        ]
        if [Form(str(value.dtype), value.shape) for value in made] != wanted:
            said = ", ".join(map(array, made)), ", ".join(map(str, wanted))
            raise InputError(f"{self.who} gives {said[0]}, the model says {said[1]}")
        return tuple(from_uint8(value) if n in self.unsigned_outputs else value for n, value in enumerate(made))

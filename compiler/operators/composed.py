# SPDX-License-Identifier: Apache-2.0
"""Several data-movement operators in one, which the compiler makes."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.operator import Arrays, Tensors, check_same
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.operators.move import Movement
from eyrie.model.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Composed(Movement):
    """Several data-movement operators in one.

    of      their names, the first one first
    places  integers of the result's shape: indices into the values of all inputs, counted through one input after the
            other; -1: `fill`
    fill    a value
    """

    name = "MOVE"
    tflite = ()

    of: tuple[str, ...]
    places: np.ndarray
    fill: int = 0

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        if len({part.dtype for part in inputs}) != 1 or self.places.max() >= sum(part.size for part in inputs):
            raise InputError(f"places of other tensors than {' and '.join(str(part.form) for part in inputs)}")
        return (Form(inputs[0].dtype, self.places.shape),)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        flat = np.concatenate([value.reshape(-1) for value in values])
        return (np.where(self.places < 0, np.asarray(self.fill, flat.dtype), flat[self.places]),)

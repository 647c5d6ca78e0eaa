# SPDX-License-Identifier: Apache-2.0
"""Operators without a golden function: an interpreter runs each as a model of its own, on the host."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.foreign import Foreign
from eyrie.compiler.operators.lookup import call_table, lookup
from eyrie.compiler.operators.record import Site, not_in_c
from eyrie.model.errors import InputError
from eyrie.model.interpreters import APART

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.writer import File


@dataclass(frozen=True, kw_only=True)
class Interpreted(Foreign):
    """An operator that an interpreter runs.

    interpreter  its name in INTERPRETERS
    reason       why the operator has no golden function
    variables    number of last inputs that are the state
    work         its element operations; of an operator with weights, its MACs
    taken, made  the tensors of its model, by number, that are the node's inputs and outputs
    model        a .tflite or .onnx file, uint8
    """

    interpreter: str
    reason: str
    variables: int
    work: int
    taken: tuple[int, ...]
    made: tuple[int, ...]
    model: np.ndarray

    @property
    def state(self) -> int:
        return self.variables

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return self.work

    @property
    def name(self) -> str:
        return self.operator

    @property
    def who(self) -> str:
        return f"{self.operator} in {self.interpreter}"

    def compute(self, values: Arrays) -> Sequence[np.ndarray]:
        """Run the model. Raise InputError, with one line, if the interpreter rejects the values."""
        try:
            [made] = APART.run(self.interpreter, self.model.tobytes(), [values], (self.taken, self.made))
        except ValueError as error:
            raise InputError(f"{self.who}: {error}") from error
        return made

    def write(self, node: Node, file: "File") -> None:
        raise Unsupported(f"it runs in {self.interpreter}, and is not written to TensorFlow Lite")

    def to_c(self, node: Node, calls: Calls) -> None:
        is_real = any(tensor.dtype == "float32" for tensor in node.inputs)
        quantise = "quantise the model (eyrie quantize-model), or " if is_real and not calls.quantised else ""
        reason = f"runs in {self.interpreter} and is not written as C"
        not_in_c(node, reason, f"{quantise}end the model before it")

    def __str__(self) -> str:
        return self.interpreter


def of_all_values(site: Site) -> str:
    """the interpreter has a result for all values of a function"""
    assert isinstance(site.operator, InterpretedFunction)
    return "" if site.operator.entries.size else "for some"


@dataclass(frozen=True, kw_only=True)
class InterpretedFunction(Interpreted):
    """A function of one int8 value: the accelerator looks its values up.

    entries: int8 [256], the results of -128, -127, ..., 127; empty if the interpreter rejects one of these
    """

    constraints = (of_all_values,)

    entries: np.ndarray

    def expanded(self, node: Node) -> tuple[Node, ...]:
        return (lookup(node, self.entries, node.inputs[0], node.outputs[0]),)

    def to_c(self, node: Node, calls: Calls) -> None:
        if self.entries.size:
            call_table(node, calls, self.entries)
        else:
            super().to_c(node, calls)

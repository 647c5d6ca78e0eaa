# SPDX-License-Identifier: Apache-2.0
"""The base class of functions of one value, each a table of 256 entries, and the operator that is any such table."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors, expect, int8, only, quantizations
from eyrie.compiler.ir.tensor import Form, Tensor
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.compiler.ir.word_operation import lookup as word_lookup
from eyrie.compiler.kernel_calls.scales import zero_point_of
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.record import Record
from eyrie.model.operators import tables
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.reference import Reference

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.writer import File


@dataclass(frozen=True, kw_only=True)
class Function(Record):
    """A function of one value. unsigned: the model has it in uint8, which only LiteRT supports"""

    constraints = ()

    unsigned: bool = False

    @property
    def reference(self) -> Reference:
        return Reference.LITERT if self.unsigned else Reference.MICRO

    @abstractmethod
    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        """Return int8 [256]: entry q + 128 is the result of q."""

    @classmethod
    def of_library(cls, name: str, alpha: float) -> "Function":
        """Return the function of the operator library with a name. alpha: the slope of LEAKY_RELU"""
        raise NotImplementedError

    @classmethod
    def near(cls, entries: np.ndarray, input_: Quantization, output: Quantization) -> Iterable["Function"]:
        """Return functions whose table may be `entries`, for the writer of `.tflite` files."""
        return ()

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int8").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.table(*quantizations(*inputs, *outputs))

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (tables.apply(self.table(*quantizations(*inputs, *outputs)), values[0]),)

    def word_operation(self, node: Node) -> WordOperation:
        return word_lookup(self.table(*quantizations(*node.inputs, *node.outputs)))

    def to_c(self, node: Node, calls: Calls) -> None:
        """Add a lookup of the golden model's table, for a function that has no kernel of its own."""
        call_table(node, calls, self.table(*quantizations(*node.inputs, *node.outputs)))


@dataclass(frozen=True, kw_only=True)
class Lookup(Function):
    """A table. entries: int8 [256], as in `table`"""

    name = "TABLE"
    tflite = ()

    entries: np.ndarray

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return self.entries

    def write(self, node: Node, file: "File") -> None:
        """Add the operators with the same table, or nearly the same."""
        for each in file.functions(node):
            file.write(each)


def lookup(node: Node, entries: np.ndarray, source: Tensor, output: Tensor) -> Node:
    """Return a table in the place of a node."""
    return replace(node, operator=Lookup(entries=entries), inputs=(source,), outputs=(output,))


def call_table(node: Node, calls: Calls, entries: np.ndarray) -> None:
    """Add the call of the kernel that looks values up."""
    calls.call(node, "lookup", {"count": node.inputs[0].size, "entries": entries}, node.inputs, node.outputs[0])


def call_function(node: Node, calls: Calls, kernel: str, settings: Fields) -> None:
    """Add the call of a kernel that computes a function of each value."""
    given: Fields = {"count": node.inputs[0].size, "zero_point": zero_point_of(node.inputs[0])} | settings
    calls.call(node, kernel, given, node.inputs, node.outputs[0])

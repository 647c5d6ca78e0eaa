# SPDX-License-Identifier: Apache-2.0
"""Custom operators: functions, by name, of the Python file in EYRIE_CUSTOM."""

import os
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import CompileError, Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.record import Record, not_in_c
from eyrie.model.errors import InputError
from eyrie.model.messages import array
from eyrie.model.operators.quantization import from_uint8, to_uint8

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.writer import File

FILE = "EYRIE_CUSTOM"


@dataclass(frozen=True, kw_only=True)
class Custom(Record):
    """A custom operator. options: the last argument of its function"""

    tflite = ()

    operator: str
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
        function = function_of(self.operator)
        taken = (to_uint8(value) if _unsigned(tensor) else value for tensor, value in zip(inputs, values))
        try:
            made = function(*taken, options=self.options)
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

    def write(self, node: Node, file: "File") -> None:
        raise Unsupported("a function in Python is not written to TensorFlow Lite")

    def to_c(self, node: Node, calls: Calls) -> None:
        not_in_c(node, "a function in Python is not written as C", "end the model before it")

    def __str__(self) -> str:
        return f"options {len(self.options)} bytes" if self.options else ""


def function_of(name: str) -> Callable:
    """Return the function of a custom operator. It takes arrays as the model's file has them, and `options`, bytes; it
    returns one or several arrays.

    Raise Unsupported if the user's file has no function of this name, CompileError if the file cannot be run.
    """
    function = _functions(os.environ.get(FILE, "")).get(name)
    if not callable(function):
        raise Unsupported(
            f"no such operator is known: write a function {name} into a Python file and name that in {FILE}"
        )
    return function


@cache
def _functions(path: str) -> Mapping[str, object]:
    if not path:
        return {}
    try:
        return runpy.run_path(path)
    except Exception as error:  # the user's file can raise any error
        raise CompileError(
            f"{FILE}={path}: {type(error).__name__}: {error}", remedy="name a Python file with functions"
        ) from error


def _unsigned(tensor: Tensor) -> bool:
    return isinstance(tensor, Quantized) and tensor.unsigned

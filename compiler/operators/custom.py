# SPDX-License-Identifier: Apache-2.0
"""Custom operators: functions, by name, of the Python file in EYRIE_CUSTOM."""

import os
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import CompileError, Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.foreign import Foreign
from eyrie.compiler.operators.record import not_in_c
from eyrie.model.errors import InputError

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.writer import File

FILE = "EYRIE_CUSTOM"


@dataclass(frozen=True, kw_only=True)
class Custom(Foreign):
    """A custom operator. options: the last argument of its function"""

    options: bytes = b""

    @property
    def name(self) -> str:
        return self.operator

    @property
    def who(self) -> str:
        return f"custom operator {self.operator}: its function"

    def compute(self, values: Arrays) -> Sequence[np.ndarray]:
        """Run the function. Raise InputError, with one line, if it fails."""
        function = function_of(self.operator)
        try:
            made = function(*values, options=self.options)
        except Exception as error:  # the user's function can raise any error
            raise InputError(f"custom operator {self.operator}: {type(error).__name__}: {error}") from error
        return [np.asarray(value) for value in (made if isinstance(made, tuple | list) else (made,))]

    def write(self, node: Node, file: "File") -> None:
        raise Unsupported("a function in Python is not written to TensorFlow Lite")

    def to_c(self, node: Node, calls: Calls) -> None:
        not_in_c(node, "a function in Python is not written as C", "end the model before it")

    def __str__(self) -> str:
        return f"options {len(self.options)} bytes" if self.options else ""


def is_known(name: str) -> bool:
    """Return whether the user's file has a function of this name."""
    return callable(_functions(os.environ.get(FILE, "")).get(name))


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
    except OSError as error:
        raise CompileError(f"{FILE}={path}: cannot be read ({error.strerror})", remedy="check the path") from error
    except Exception as error:  # the user's file can raise any error
        raise CompileError(
            f"{FILE}={path}: {type(error).__name__}: {error}", remedy="name a Python file with functions"
        ) from error

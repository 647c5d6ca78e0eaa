# SPDX-License-Identifier: Apache-2.0
"""Custom operators: functions, by name, of the Python file in EYRIE_CUSTOM."""

import os
import runpy
from collections.abc import Mapping
from functools import cache

from eyrie.compiler.frontend.file import ModelImportError
from eyrie.compiler.frontend.tflite.reader import Call
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators.custom import Custom
from eyrie.compiler.ir.tensor import Tensor

FILE = "EYRIE_CUSTOM"


def custom(call: Call, name: str) -> tuple[tuple[Tensor, ...], Custom]:
    """Return inputs and operator of a call of a custom operator.

    Raise Unsupported if the user's file has no function of this name, ModelImportError if the file cannot be run.
    """
    function = _functions(os.environ.get(FILE, "")).get(name)
    if not callable(function):
        raise Unsupported(
            f"no such operator is known: write a function {name} into a Python file and name that in {FILE}"
        )
    inputs = tuple(call.tensor(number) for number in range(len(call.inputs)) if call.has(number))
    return inputs, Custom(operator=name, function=function, options=call.custom_options)


@cache
def _functions(path: str) -> Mapping[str, object]:
    if not path:
        return {}
    try:
        return runpy.run_path(path)
    except Exception as error:  # the user's file can raise any error
        raise ModelImportError(
            f"{FILE}={path}: {type(error).__name__}: {error}", remedy="name a Python file with functions"
        ) from error

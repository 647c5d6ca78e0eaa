# SPDX-License-Identifier: Apache-2.0
"""The import of custom operators."""

from eyrie.compiler.frontend.tflite.reader import Call
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.custom import Custom, function_of


def custom(call: Call, name: str) -> tuple[tuple[Tensor, ...], Custom]:
    """Return inputs and operator of a call of a custom operator.

    Raise Unsupported if the user's file has no function of this name, CompileError if the file cannot be run.
    """
    function_of(name)
    inputs = tuple(call.tensor(number) for number in range(len(call.inputs)) if call.has(number))
    return inputs, Custom(operator=name, options=call.custom_options)

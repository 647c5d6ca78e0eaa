# SPDX-License-Identifier: Apache-2.0
"""Functions of one value."""

from collections.abc import Callable

from eyrie.compiler.frontend.tflite.reader import Call
from eyrie.compiler.ir.operators import tables
from eyrie.compiler.ir.operators.tables import Function
from eyrie.compiler.ir.tensor import Tensor

Imported = tuple[tuple[Tensor, ...], Function]


def _function(kind: type[Function], attributes: Callable[[Call], dict] = lambda call: {}, **fixed: object):
    def make(call: Call) -> Imported:
        source = call.quantized(0)
        call.quantized_output()
        return (source,), kind(unsigned=call.unsigned, **attributes(call), **fixed)

    return make


OPERATORS = {
    "RELU": _function(tables.Relu, activation="RELU"),
    "RELU6": _function(tables.Relu, activation="RELU6"),
    "RELU_N1_TO_1": _function(tables.Relu, activation="RELU_N1_TO_1"),
    "LEAKY_RELU": _function(tables.LeakyRelu, lambda call: {"alpha": float(call.options.alpha)}),
    "ABS": _function(tables.Absolute),
    "LOGISTIC": _function(tables.Logistic),
    "TANH": _function(tables.Tanh),
    "HARD_SWISH": _function(tables.HardSwish),
    "ELU": _function(tables.Real, function="ELU"),
    "EXP": _function(tables.Real, function="EXP"),
}

# SPDX-License-Identifier: Apache-2.0
"""Importers of functions of one value."""

from collections.abc import Callable

from eyrie.compiler.frontend.tflite.reader import Call, Imported, Importer
from eyrie.compiler.ir.operators import tables
from eyrie.compiler.ir.operators.tables import Function


def _function(operator: Callable[[Call], Function]) -> Importer:
    def make(call: Call) -> Imported:
        source = call.quantized(0)
        call.quantized_output()
        return (source,), operator(call)

    return make


def _plain(kind: type[Function]) -> Importer:
    return _function(lambda call: kind(unsigned=call.unsigned))


def _relu(name: str) -> Importer:
    return _function(lambda call: tables.Relu(activation=name, unsigned=call.unsigned))


def _real(name: str) -> Importer:
    return _function(lambda call: tables.Real(function=name, unsigned=call.unsigned))


OPERATORS: dict[str, Importer] = {
    "RELU": _relu("RELU"),
    "RELU6": _relu("RELU6"),
    "RELU_N1_TO_1": _relu("RELU_N1_TO_1"),
    "LEAKY_RELU": _function(lambda call: tables.LeakyRelu(alpha=call.number("alpha"), unsigned=call.unsigned)),
    "ABS": _plain(tables.Absolute),
    "LOGISTIC": _plain(tables.Logistic),
    "TANH": _plain(tables.Tanh),
    "HARD_SWISH": _plain(tables.HardSwish),
    "ELU": _real("ELU"),
    "EXP": _real("EXP"),
}

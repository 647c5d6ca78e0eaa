# SPDX-License-Identifier: Apache-2.0
"""Importers of ADD, SUB, MUL, MAXIMUM, MINIMUM and PRELU."""

from eyrie.compiler.frontend.tflite.reader import Call, Importer
from eyrie.compiler.ir.operators import elementwise
from eyrie.compiler.ir.tensor import Tensor


def _operands(call: Call) -> tuple[Tensor, ...]:
    call.quantized_output()
    return call.quantized(0), call.quantized(1)


def _with_activation(kind: type[elementwise.Sum | elementwise.Mul]) -> Importer:
    return lambda call: (_operands(call), kind(activation=call.fused(), unsigned=call.unsigned))


def _plain(kind: type[elementwise.Binary]) -> Importer:
    return lambda call: (_operands(call), kind(unsigned=call.unsigned))


OPERATORS: dict[str, Importer] = {
    "ADD": _with_activation(elementwise.Add),
    "SUB": _with_activation(elementwise.Sub),
    "MUL": _with_activation(elementwise.Mul),
    "MAXIMUM": _plain(elementwise.Maximum),
    "MINIMUM": _plain(elementwise.Minimum),
    "PRELU": _plain(elementwise.Prelu),
}

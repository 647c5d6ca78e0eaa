# SPDX-License-Identifier: Apache-2.0
"""Lowering of functions of one value."""

import numpy as np

from eyrie.compiler.c.scales import (
    multiplier_of,
    multiplier_of_16_bits,
    range_of,
    scale_of,
    scaling,
    to_integer_bits,
    zero_point_of,
)
from eyrie.compiler.c.steps import Calls, Fields
from eyrie.compiler.c.steps import Real as Number
from eyrie.compiler.c.tables import table_of
from eyrie.compiler.ir.graph import Node, operator_of
from eyrie.compiler.ir.operators.tables import (
    Absolute,
    HardSwish,
    LeakyRelu,
    Logistic,
    Lookup,
    Real,
    Relu,
    Requantize,
    Tanh,
)


def _call(node: Node, calls: Calls, kernel: str, settings: Fields) -> None:
    given: Fields = {"count": node.inputs[0].size, "zero_point": zero_point_of(node.inputs[0])} | settings
    calls.call(node, kernel, given, node.inputs, node.outputs[0])


def _table(node: Node, calls: Calls, entries: np.ndarray) -> None:
    settings: Fields = {"count": node.inputs[0].size, "entries": entries}
    calls.call(node, "lookup", settings, node.inputs, node.outputs[0])


def _scales(node: Node, single: bool) -> tuple[Number, Number]:
    """Return the scales of input and output. single: in float32, in which the reference of uint8 computes factors"""
    precision = np.float32 if single else np.float64
    return precision(scale_of(node.inputs[0])), precision(scale_of(node.outputs[0]))


def quantize(node: Node, calls: Calls) -> None:
    input_, output = _scales(node, single=False)
    _call(node, calls, "scale_values", scaling(input_ / output) | range_of(node.outputs[0]))


def relu(node: Node, calls: Calls) -> None:
    """Lower RELU6 and RELU_N1_TO_1 as LiteRT does, with factors in float32."""
    operator = operator_of(node, Relu)
    activation = operator.activation
    input_, output = _scales(node, single=operator.unsigned or activation != "RELU")
    _call(node, calls, "scale_values", scaling(input_ / output) | range_of(node.outputs[0], activation))


def leaky_relu(node: Node, calls: Calls) -> None:
    operator = operator_of(node, LeakyRelu)
    input_, output = _scales(node, operator.unsigned)
    rounded = np.float32(operator.alpha)
    slope: Number = rounded if operator.unsigned else np.float64(rounded)
    factor = input_ * slope / output
    multiplier, shift = multiplier_of(abs(float(factor)))
    negative: Fields = {"negative_multiplier": -multiplier if factor < 0 else multiplier, "negative_shift": shift}
    _call(node, calls, "leaky_relu", scaling(input_ / output, "positive_") | negative | range_of(node.outputs[0]))


def absolute(node: Node, calls: Calls) -> None:
    input_, output = _scales(node, single=False)
    _call(node, calls, "absolute", scaling(input_ / output) | range_of(node.outputs[0]))


def logistic(node: Node, calls: Calls) -> None:
    if operator_of(node, Logistic).unsigned:
        _table(node, calls, table_of("LOGISTIC", node.inputs[0], node.outputs[0]))
    else:
        _call(node, calls, "logistic", _to_4_bits(node))


def tanh(node: Node, calls: Calls) -> None:
    if operator_of(node, Tanh).unsigned:
        _table(node, calls, table_of("TANH", node.inputs[0], node.outputs[0]))
    else:
        _call(node, calls, "tangent", _to_4_bits(node))


def _to_4_bits(node: Node) -> Fields:
    multiplier, shift, radius = to_integer_bits(scale_of(node.inputs[0]), 4)
    return {"radius": radius, "multiplier": multiplier, "shift": shift}


def hard_swish(node: Node, calls: Calls) -> None:
    input_, output = _scales(node, single=operator_of(node, HardSwish).unsigned)
    three = type(input_)(3 / 32768)
    multiplier, exponent = multiplier_of_16_bits(input_ / 128 / output)
    gate_multiplier, gate_exponent = multiplier_of_16_bits(input_ / 128 / three)
    _call(
        node,
        calls,
        "hard_swish",
        {
            "multiplier": multiplier,
            "exponent": exponent,
            "gate_multiplier": gate_multiplier,
            "gate_exponent": gate_exponent,
            "output_zero_point": zero_point_of(node.outputs[0]),
        },
    )


def real(node: Node, calls: Calls) -> None:
    _table(node, calls, table_of(operator_of(node, Real).function, node.inputs[0], node.outputs[0]))


def lookup(node: Node, calls: Calls) -> None:
    _table(node, calls, operator_of(node, Lookup).entries)


LOWERINGS = {
    Requantize: quantize,
    Relu: relu,
    LeakyRelu: leaky_relu,
    Absolute: absolute,
    Logistic: logistic,
    Tanh: tanh,
    HardSwish: hard_swish,
    Real: real,
    Lookup: lookup,
}

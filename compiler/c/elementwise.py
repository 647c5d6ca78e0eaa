# SPDX-License-Identifier: Apache-2.0
"""Lowering of ADD, SUB, MUL, MAXIMUM, MINIMUM and PRELU."""

import numpy as np

from eyrie.compiler.c.axes import Walk, broadcast
from eyrie.compiler.c.scales import range_of, scale_of, scaling, zero_point_of
from eyrie.compiler.c.steps import Calls, Fields, Real
from eyrie.compiler.ir.graph import Node, operator_of
from eyrie.compiler.ir.operators.elementwise import Add, Binary, Maximum, Minimum, Mul, Prelu, Sub, Sum


def add(node: Node, calls: Calls) -> None:
    first, second, output = map(scale_of, (*node.inputs, *node.outputs))
    common = 2 * max(first, second)
    settings = _operands(node) | Fields(sign=-1 if isinstance(node.operator, Sub) else 1) | _zero_points(node)
    settings |= scaling(first / common, "first_") | scaling(second / common, "second_")
    settings |= scaling(common / (2**20 * output)) | range_of(node.outputs[0], operator_of(node, Sum).activation)
    calls.call(node, "add", settings, node.inputs, node.outputs[0])


def mul(node: Node, calls: Calls) -> None:
    first, second, output = _scales(node)
    settings = _operands(node) | _zero_points(node) | scaling(first * second / output)
    settings |= range_of(node.outputs[0], operator_of(node, Mul).activation)
    calls.call(node, "mul", settings, node.inputs, node.outputs[0])


def prelu(node: Node, calls: Calls) -> None:
    values, slopes, output = _scales(node)
    settings = _operands(node) | _zero_points(node)
    settings |= scaling(values / output, "positive_") | scaling(values * slopes / output, "negative_")
    calls.call(node, "prelu", settings | range_of(node.outputs[0]), node.inputs, node.outputs[0])


def maximum(node: Node, calls: Calls) -> None:
    calls.call(node, "maximum", _operands(node), node.inputs, node.outputs[0])


def minimum(node: Node, calls: Calls) -> None:
    calls.call(node, "minimum", _operands(node), node.inputs, node.outputs[0])


def _scales(node: Node) -> tuple[Real, ...]:
    """Return the scales of the inputs and the output, as the reference computes factors from them: uint8 in float32."""
    precision = np.float32 if operator_of(node, Binary).unsigned else np.float64
    return tuple(precision(scale_of(tensor)) for tensor in (*node.inputs, *node.outputs))


def _zero_points(node: Node) -> Fields:
    first, second = map(zero_point_of, node.inputs)
    return {"first_zero_point": first, "second_zero_point": second}


def _operands(node: Node) -> Fields:
    shape = node.outputs[0].shape
    walk = Walk(shape, tuple(broadcast(tensor.shape, shape) for tensor in node.inputs)).merged()
    length, steps = (walk.sizes[-1], [strides[-1] for strides in walk.strides]) if walk.sizes else (1, (0, 0))
    rows = walk.without_last()
    return {
        "operands": {
            "rows": rows.count,
            "length": length,
            "axes": len(rows.sizes),
            "sizes": np.array(rows.sizes, np.int32),
            "first_strides": np.array(rows.strides[0], np.int32),
            "second_strides": np.array(rows.strides[1], np.int32),
            "first_step": steps[0],
            "second_step": steps[1],
        }
    }


LOWERINGS = {Add: add, Sub: add, Mul: mul, Prelu: prelu, Maximum: maximum, Minimum: minimum}

# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators as operations of the vector unit: of two feature maps, of one and a constant, and tables."""

import numpy as np

from eyrie.compiler.ir.feature_map import split_channels, words_of
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operators.elementwise import Add, Maximum, Minimum, Mul, Sub, Sum
from eyrie.compiler.ir.operators.operator import Operator, quantizations
from eyrie.compiler.ir.operators.tables import Function
from eyrie.compiler.ir.tensor import Constant, Tensor
from eyrie.compiler.ir.word_operation import AS_IS, INT8, WordOperation, lookup
from eyrie.model.encoding import Operation
from eyrie.model.operators.elementwise import AddParameters, mul_requantization
from eyrie.model.operators.quantization import Quantization, Requantization

KINDS: dict[type[Operator], Operation] = {
    Add: Operation.ADD,
    Sub: Operation.SUB,
    Mul: Operation.MUL,
    Maximum: Operation.MAXIMUM,
    Minimum: Operation.MINIMUM,
}


def word_operation(node: Node, first: int = 0) -> WordOperation:
    """Return the elementwise operation of a node. first: the operand that is the source; SUB needs its own order

    The other operand may be a constant.
    """
    if isinstance(node.operator, Function):
        return lookup(node.operator.table(*quantizations(*node.inputs, *node.outputs)))
    kind, (operands, result) = KINDS[type(node.operator)], _form(node)
    other = node.inputs[1 - first]
    constants = constant_words(other, node.outputs[0]) if isinstance(other, Constant) else None
    return WordOperation(kind, operands[first], operands[1 - first], result, constants)


def constant_words(operand: Constant, result: Tensor) -> np.ndarray:
    """Return uint64 [rows, columns, groups] of an operand. Rows or columns are 1 if it is broadcast along them."""
    axes = (1,) * (len(result.shape) - len(operand.shape)) + operand.shape
    channels = np.broadcast_to(operand.data.reshape(axes), (*axes[:-1], result.shape[-1]))
    return words_of(split_channels(channels.reshape((1, 1, *channels.shape[1:])[-3:])))


def operands_of(node: Node) -> tuple[Tensor, ...]:
    """Return the operands that are feature maps, the one of the result's shape first."""
    first, *others = node.activations
    if others and first.shape != node.outputs[0].shape:
        return *others, first
    return node.activations


def _form(node: Node) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Return the fields of both operands, and of the result."""
    if isinstance(node.operator, Sum):
        return _sum(node.operator.parameters(node.inputs, node.outputs))
    if isinstance(node.operator, Mul):
        return _product(node.operator, *quantizations(*node.inputs, *node.outputs))
    return [{}, {}], AS_IS | INT8


def _sum(parameters: AddParameters) -> tuple[list[dict[str, int]], dict[str, int]]:
    operands = [
        {"multiplier": int(each.multiplier), "right_shift": -int(each.shift), "zero_point": each.zero_point}
        for each in (parameters.first, parameters.second)
    ]
    return operands, _result(parameters.output)


def _product(
    operator: Mul, first: Quantization, second: Quantization, output: Quantization
) -> tuple[list[dict[str, int]], dict[str, int]]:
    operands = [{"zero_point": scale.zero_point} for scale in (first, second)]
    return operands, _result(mul_requantization(first, second, output, operator.activation, operator.reference))


def _result(scaling: Requantization) -> dict[str, int]:
    return {
        "multiplier": int(scaling.multiplier),
        "shift": int(scaling.shift),
        "zero_point": int(scaling.zero_point),
        "act_min": int(scaling.minimum),
        "act_max": int(scaling.maximum),
    }

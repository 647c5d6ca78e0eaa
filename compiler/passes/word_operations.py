# SPDX-License-Identifier: Apache-2.0
"""Operators of two maps as operations of the PPU on their words."""

from collections.abc import Callable

from compiler.ir.graph import Node
from compiler.ir.layer import AS_IS, INT8, WordOperation
from compiler.ir.operators.elementwise import Add, Maximum, Minimum, Mul, Sub, Sum
from compiler.ir.operators.operator import Operator, quantizations
from model.encoding import Operation
from model.operators.elementwise import mul_requantization
from model.operators.quantization import Requantization

KINDS: dict[type[Operator], Operation] = {
    Add: Operation.ADD, Sub: Operation.SUB, Mul: Operation.MUL, Maximum: Operation.MAXIMUM,
    Minimum: Operation.MINIMUM}


def word_operation(node: Node, first: int = 0) -> WordOperation:
    """first: which of the operands words A are of; SUB takes them in its own order only."""
    kind, forms = KINDS[type(node.operator)], {Sum: _sum, Mul: _product}
    operands, result = _form(node.operator, forms)(node)
    return WordOperation(kind, operands[first], operands[1 - first], result)


def _form(operator: Operator, forms: dict[type, Callable]) -> Callable:
    return next((form for kind, form in forms.items() if isinstance(operator, kind)), _choice)


def _sum(node: Node) -> tuple[list[dict[str, int]], dict[str, int]]:
    parameters = node.operator.parameters(node.inputs, node.outputs)
    operands = [{"multiplier": int(each.multiplier), "right_shift": -int(each.shift), "zero_point": each.zero_point}
                for each in (parameters.first, parameters.second)]
    return operands, _result(parameters.output)


def _product(node: Node) -> tuple[list[dict[str, int]], dict[str, int]]:
    operator, scales = node.operator, quantizations(*node.inputs, *node.outputs)
    operands = [{"zero_point": scale.zero_point} for scale in scales[:2]]
    return operands, _result(mul_requantization(*scales, operator.activation, operator.reference))


def _choice(node: Node) -> tuple[list[dict[str, int]], dict[str, int]]:
    return [{}, {}], AS_IS | INT8


def _result(scaling: Requantization) -> dict[str, int]:
    return {"multiplier": int(scaling.multiplier), "shift": int(scaling.shift), "zero_point": int(scaling.zero_point),
            "act_min": int(scaling.minimum), "act_max": int(scaling.maximum)}

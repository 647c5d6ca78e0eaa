# SPDX-License-Identifier: Apache-2.0
"""The interpreter whose rounding a network follows: tflite-micro, or LiteRT if only that runs it."""

from collections.abc import Sequence
from dataclasses import replace

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.model.interpreters import APART, Rejected
from eyrie.model.operators.reference import Reference

_LITERT_ONLY = ("EXP", "LOG", "RELU_N1_TO_1", "TILE")  # of the operators with a golden function


def as_rounded(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return the nodes of a network. If tflite-micro lacks one of them, FULLY_CONNECTED rounds as in LiteRT."""
    layers = any(isinstance(node.operator, FullyConnected) and not node.operator.once for node in nodes)
    return tuple(map(_once, nodes) if layers and not all(map(_is_in_micro, nodes)) else nodes)


def _once(node: Node) -> Node:
    operator = node.operator
    return replace(node, operator=replace(operator, once=True)) if isinstance(operator, FullyConnected) else node


def _is_in_micro(node: Node) -> bool:
    """Return whether tflite-micro has an operator. It gives no access to the variables of one."""
    operator = node.operator
    if not isinstance(operator, Interpreted) or operator.variables:
        return operator.name not in _LITERT_ONLY
    try:
        APART.outputs(Reference.MICRO, operator.model.tobytes(), (operator.taken, operator.made))
    except Rejected:
        return False
    return True

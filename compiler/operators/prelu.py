# SPDX-License-Identifier: Apache-2.0
"""PRELU."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors, quantizations
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Known, Made, Target
from eyrie.compiler.ir.tensor import Constant, Form
from eyrie.compiler.kernel_calls.scales import range_of, scaling
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.binary import Binary, WordFields, is_uniform, operands_of_fold
from eyrie.compiler.operators.elementwise import Maximum, Mul
from eyrie.compiler.operators.lookup import lookup
from eyrie.compiler.operators.record import PPU, Row, Shape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import elementwise
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, requantize
from eyrie.model.operators.tables import VALUES

if TYPE_CHECKING:
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall


def _aten(call: "AtenCall") -> list[Operation]:
    """Translate prelu. Its slopes are per channel, axis 1."""
    if not call.is_constant(call["weight"]):
        raise Unsupported("its slopes are no constants")
    rank, slopes = len(call.made_shape), call.shape(call["weight"])
    name = f"{call.node.name}.slopes"
    shape = (1, slopes[0], *(1,) * (rank - 2))
    return [call.inner("reshape", (name,), call["weight"], shape=shape), call.make("prelu", call["self"], name)]


@dataclass(frozen=True, kw_only=True)
class Prelu(Binary):
    """PRELU of values and slopes."""

    row = Row("PReLU", PPU)
    name = "PRELU"
    version = 1
    constraints = None
    kind = "prelu"
    operands = 2
    onnx = "PRelu"
    aten = {"prelu": _aten}
    clamps = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        made = super().infer(inputs)
        if made[0].shape != inputs[0].shape:
            raise InputError(f"slopes of {times(inputs[1].shape)} do not go with {times(inputs[0].shape)} values")
        return made

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)

    def parameters(self, inputs: Tensors, outputs: Tensors) -> elementwise.PreluParameters:
        values, slopes, output = quantizations(*inputs, *outputs)
        return elementwise.prelu_parameters(values, slopes, output, self.reference)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        zero_points = [scale.zero_point for scale in quantizations(*inputs)]
        return (elementwise.prelu(values[0], values[1], zero_points, self.parameters(inputs, outputs)),)

    def word_fields(self, node: Node) -> WordFields:
        raise NotImplementedError("PRELU is expanded")

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes: a table, which is the smallest int8 for negative values; the product with the slopes; the
        maximum of the two.

        If the product of a positive value may be larger than its entry, a table makes it zero before. With equal
        slopes, PRELU is a function of one value (compose_functions.py).
        """
        (values, slopes), (output,) = node.inputs, node.outputs
        scale, _, _ = quantizations(values, slopes, output)
        if isinstance(values, Constant) or is_uniform(node):
            return (node,)
        centred = VALUES - scale.zero_point
        entries = requantize(centred, self.parameters(node.inputs, node.outputs).positive)
        entries = np.where(centred < 0, INT8_MIN, entries).astype(np.int8)
        parts = [replace(output, name=f"{output.name}#{part}") for part in ("positive", "product")]
        nodes, factor = [lookup(node, entries, values, parts[0])], values
        if not self._is_flatter(node, entries):
            factor = replace(values, name=f"{output.name}#negative")
            nodes.append(lookup(node, np.minimum(VALUES, scale.zero_point).astype(np.int8), values, factor))
        return (
            *nodes,
            replace(node, operator=Mul(unsigned=self.unsigned), inputs=(factor, slopes), outputs=(parts[1],)),
            replace(node, operator=Maximum(unsigned=self.unsigned), inputs=tuple(parts)),
        )

    def _is_flatter(self, node: Node, entries: np.ndarray) -> bool:
        """Return whether the products of values that are not negative are at most their entries."""
        (values, slopes), (output,) = node.inputs, node.outputs
        if not isinstance(slopes, Constant):
            return False
        zero, flat, _ = (each.zero_point for each in quantizations(values, slopes, output))
        products = np.outer(np.arange(INT8_MAX - zero + 1), np.unique(slopes.data).astype(np.int64) - flat)
        found = requantize(products, self.parameters(node.inputs, node.outputs).negative)
        return bool((found <= entries[zero - INT8_MIN :, None]).all())

    def to_c(self, node: Node, calls: Calls) -> None:
        values, slopes, output = self.scales(node)
        settings = self.operand_fields(node) | self.zero_point_fields(node)
        settings |= scaling(values / output, "positive_") | scaling(values * slopes / output, "negative_")
        calls.call(node, "prelu", settings | range_of(node.outputs[0]), node.inputs, node.outputs[0])

    @staticmethod
    def real(operation: Operation, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return np.where(x < 0, slope * x, x)

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        return inputs[:1]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        slopes = made.inputs[1]
        if not isinstance(slopes, Known):
            raise Unsupported("its slopes are no constant")
        tensors, axes, shape = operands_of_fold(fold, made)
        return fold.node(made.operation.where, Prelu(), tensors, shape, axes, target)

# SPDX-License-Identifier: Apache-2.0
"""The base class of operators that are several int8 operators of TensorFlow Lite, and the scales between these."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Operator, Tensors
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.operators.record import Record
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Quantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.writer import File

LEVELS = INT8_MAX - INT8_MIN


class Chain(Record):
    """An operator that is the operators of `expanded`, one after the other. These are checked, run and written."""

    tflite = ()
    constraints = ()

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        for each in self.expanded(Node(self, "", inputs, outputs)):
            with about(each.operator.name):
                each.operator.check(each.inputs, each.outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        known = dict(zip((tensor.name for tensor in inputs), values, strict=True))
        for node in self.expanded(Node(self, "", inputs, outputs)):
            given = (tensor.data if isinstance(tensor, Constant) else known[tensor.name] for tensor in node.inputs)
            (known[node.outputs[0].name],) = node.run(tuple(given))
        return tuple(known[tensor.name] for tensor in outputs)

    def write(self, node: Node, file: "File") -> None:
        for each in self.expanded(node):
            file.write(each)


class Nodes:
    """The nodes in the place of a node, in order. Their results are named after its first output."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._nodes: list[Node] = []

    def add(
        self, operator: Operator, part: str, scale: Quantization, *inputs: Tensor, shape: tuple[int, ...] = ()
    ) -> Quantized:
        """Add an operator with a new result. shape: of the first input by default"""
        name = f"{self._node.outputs[0].name}#{part}"
        made = Quantized(name=name, shape=shape or inputs[0].shape, dtype="int8", quantization=scale)
        self.end(operator, made, *inputs)
        return made

    def end(self, operator: Operator, output: Tensor, *inputs: Tensor) -> None:
        """Add an operator that makes an output of the node."""
        self._nodes.append(replace(self._node, operator=operator, inputs=inputs, outputs=(output,)))

    def all(self) -> tuple[Node, ...]:
        return tuple(self._nodes)


def positive(name: str, value: float) -> float:
    """Return a number, rounded to float32. Raise InputError unless it is positive and finite there."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(np.float32(value))
    if not 0 < rounded < np.inf:
        raise InputError(f"{name} = {value:g}: must be positive and finite in float32")
    return rounded


def covering(least: float, largest: float) -> Quantization:
    """Return the scale and zero point of values between two, and of zero."""
    least, largest = min(least, 0.0), max(largest, 0.0)
    scale = positive(f"the scale of values from {least:g} to {largest:g}", (largest - least) / LEVELS)
    return Quantization(scale, round(INT8_MIN - least / scale))


def ends_of(scale: Quantization) -> tuple[float, float]:
    """Return the least and the largest value of a tensor."""
    return scale.scale * (INT8_MIN - scale.zero_point), scale.scale * (INT8_MAX - scale.zero_point)

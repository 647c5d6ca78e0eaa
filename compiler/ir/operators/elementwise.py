# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators of two tensors; shapes broadcast as in NumPy."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.operators.operator import (
    Arrays,
    Operator,
    Tensors,
    check_same,
    expect,
    int8,
    only,
    quantizations,
)
from eyrie.compiler.ir.tensor import Form
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import elementwise
from eyrie.model.operators.quantization import Requantization
from eyrie.model.operators.reference import Reference


@dataclass(frozen=True, kw_only=True)
class Binary(Operator):
    """An elementwise operator. unsigned: the model has it in uint8, which only LiteRT supports"""

    unsigned: bool = False

    @property
    def reference(self) -> Reference:
        return Reference.LITERT if self.unsigned else Reference.MICRO

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        shapes = [expect(tensor, "int8").shape for tensor in only(inputs, 2)]
        try:
            return int8(np.broadcast_shapes(*shapes))
        except ValueError:
            raise InputError(f"operands of {' and '.join(map(times, shapes))} do not go together") from None


@dataclass(frozen=True, kw_only=True)
class Sum(Binary):
    """ADD or SUB, with a fused activation."""

    activation: str = "NONE"

    def parameters(self, inputs: Tensors, outputs: Tensors) -> elementwise.AddParameters:
        first, second, output = quantizations(*inputs, *outputs)
        return elementwise.add_parameters(first, second, output, self.activation)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)


@dataclass(frozen=True, kw_only=True)
class Add(Sum):
    name = "ADD"

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.add(values[0], values[1], self.parameters(inputs, outputs)),)


@dataclass(frozen=True, kw_only=True)
class Sub(Sum):
    name = "SUB"

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.sub(values[0], values[1], self.parameters(inputs, outputs)),)


@dataclass(frozen=True, kw_only=True)
class Mul(Binary):
    name = "MUL"
    activation: str = "NONE"

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.parameters(inputs, outputs)

    def parameters(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        first, second, output = quantizations(*inputs, *outputs)
        return elementwise.mul_requantization(first, second, output, self.activation, self.reference)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        zero_points = [scale.zero_point for scale in quantizations(*inputs)]
        return (elementwise.mul(values[0], values[1], zero_points, self.parameters(inputs, outputs)),)


@dataclass(frozen=True, kw_only=True)
class Maximum(Binary):
    name = "MAXIMUM"

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.maximum(*values),)


@dataclass(frozen=True, kw_only=True)
class Minimum(Binary):
    name = "MINIMUM"

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (elementwise.minimum(*values),)


@dataclass(frozen=True, kw_only=True)
class Prelu(Binary):
    """PRELU of values and slopes."""

    name = "PRELU"

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

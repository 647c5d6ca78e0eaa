# SPDX-License-Identifier: Apache-2.0
"""A random network that grows operator by operator."""

from dataclasses import dataclass, field

import numpy as np

from eyrie.model.operators.quantization import Quantization
from eyrie.testing.tflite_builder import Builder
from tb.common.random_operators.drawing import (
    Operand,
    activation,
    chance,
    constant,
    draw_quantization,
    draw_values,
    result,
    whole,
)

LARGEST = 3000  # values of a tensor that is read
SCALES = (1e-4, 4)  # of one that is read: sums and products of others grow without end
MOST_AXES = 4


@dataclass(frozen=True)
class Value:
    """A tensor of the graph."""

    index: int
    shape: tuple
    quantization: Quantization | None


@dataclass
class Net:
    """A graph that grows.

    kind    int8 or uint8, of all tensors that are quantised
    inputs  what the references take: operands
    values  quantised tensors, which operators may take
    """

    rng: np.random.Generator
    kind: str
    builder: Builder = field(default_factory=Builder)
    inputs: list[tuple[Value, Operand]] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    made: list[Value] = field(default_factory=list)  # by operators, of any type
    taken: set[int] = field(default_factory=set)
    operators: list[str] = field(default_factory=list)  # their names

    def input(self, shape, quantization=None):
        """Of real numbers without a quantisation."""
        values = draw_values(self.rng, shape)
        operand = activation(values, quantization, self.kind)
        if quantization is None:
            operand = Operand(values.shape, "float32", (values / 9).astype(np.float32))
        self.inputs.append((self._value(operand), operand))

    def constant(self, shape, quantization):
        """A constant operand of the net's type."""
        values = draw_values(self.rng, shape, quantization.zero_point)
        operand = activation(values, quantization, self.kind, constant=True)
        return Value(operand.add_to(self.builder), operand.shape, quantization)

    def _value(self, operand):
        value = Value(operand.add_to(self.builder), operand.shape, operand.quantization)
        if value.quantization:
            self.values.append(value)
        return value

    def add(self, name, sources, made, arguments=(), first=False, **options):
        """One operator, with constants `arguments` behind its tensors, or before them if they come `first`.

        made: of each output shape and quantisation, or shape and type if it is not the net's. Returns the outputs.
        """
        taken = [source.index for source in sources]
        constants = [operand.add_to(self.builder) for operand in arguments]
        outputs = [
            self._value(result(shape, None, form) if isinstance(form, str) else result(shape, form, self.kind))
            for shape, form in made
        ]
        self.builder.operator(
            name, constants + taken if first else taken + constants, [output.index for output in outputs], **options
        )
        self.taken |= set(taken)
        self.made += outputs
        self.operators.append(name)
        return outputs

    def move(self, name, sources, compute, arguments=(), **options):
        """One operator that puts values in other places; `compute` takes arrays and gives one, or a list."""
        made = compute(*(np.zeros(source.shape, np.int8) for source in sources))
        shapes = [each.shape for each in (made if isinstance(made, list) else [made])]
        if all(len(shape) <= MOST_AXES and np.prod(shape) <= LARGEST for shape in shapes):
            arguments = [constant(np.asarray(argument, np.int32)) for argument in arguments]
            self.add(name, sources, [(shape, sources[0].quantization) for shape in shapes], arguments, **options)

    def one_of(self, items):
        return items[whole(self.rng, 0, len(items) - 1)]

    def take(self, allowed=lambda value: True):
        """A tensor to go on with, None if there is none; recent ones more often."""
        fitting = [
            value
            for value in reversed(self.values)
            if value.shape
            and np.prod(value.shape) <= LARGEST
            and SCALES[0] < value.quantization.scale < SCALES[1]
            and allowed(value)
        ]
        recent = fitting[: whole(self.rng, 1, len(fitting))] if fitting and chance(self.rng, 0.7) else fitting
        return self.one_of(recent) if recent else None

    def near(self, x):
        """A quantisation whose scale is not far from a tensor's."""
        return draw_quantization(self.rng, x.quantization.scale * np.exp(self.rng.uniform(-1, 1)))

# SPDX-License-Identifier: Apache-2.0
"""What random graphs of one operator are made of: tensors, quantisations, and the graph with its answer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.model.operators.quantization import ACTIVATIONS, INT8_MAX, INT8_MIN, UINT8_OFFSET, Quantization, to_uint8
from eyrie.model.operators.reference import Reference
from eyrie.testing.tflite_builder import Builder

SAME, VALID = schema.Padding.SAME, schema.Padding.VALID
BOTH, LITERT, MICRO = tuple(Reference), (Reference.LITERT,), (Reference.MICRO,)


@dataclass(frozen=True, eq=False)
class Operand:
    """A tensor of a graph: an input or a constant if it has `values`, else an output.

    values        as the golden model has them: uint8 activations as int8
    quantization  of an activation, as the golden model has it; scales, zero point and axis are those of constants
    """

    shape: tuple
    kind: str = "int8"
    values: np.ndarray | None = None
    quantization: Quantization | None = None
    constant: bool = False
    scales: np.ndarray | None = None
    zero_point: int = 0
    axis: int = 0

    @property
    def stored(self):
        """The values as the file or the caller of the reference has them."""
        as_uint8 = self.kind == "uint8" and self.values.dtype == np.int8
        return to_uint8(self.values) if as_uint8 else self.values

    def add_to(self, builder):
        """Add the tensor and return its index."""
        scale, zero_point = self.scales, self.zero_point
        if self.quantization:
            scale = self.quantization.scale
            zero_point = self.quantization.zero_point + (UINT8_OFFSET if self.kind == "uint8" else 0)
        data = self.stored if self.constant else None
        return builder.tensor(self.shape, self.kind, scale, zero_point, self.axis, data)

    def __str__(self):
        kept = "constant " if self.constant else ""
        few = f" = {self.values.tolist()}" if self.constant and self.values.size < 9 else ""
        scaled = f" {self.quantization.scale:.6g}/{self.quantization.zero_point}" if self.quantization else ""
        return f"{kept}{self.kind}{list(self.shape)}{scaled}{few}"


def activation(values, quantization=None, kind="int8", constant=False):
    """An input with these values, or a constant one."""
    return Operand(values.shape, kind, values, quantization, constant)


def constant(values, kind="int32", scales=None, zero_point=0, axis=0):
    """Weights, biases, and what operators have as arguments."""
    values = np.asarray(values)
    return Operand(values.shape, kind, values, None, True, scales, zero_point, axis)


def result(shape, quantization=None, kind="int8"):
    """An output."""
    return Operand(tuple(map(int, shape)), kind, None, quantization)


@dataclass
class Drawn:
    """A graph as .tflite `model`, the `inputs` to run it with, and what has to come out.

    golden      the outputs, a list of arrays, by the golden model of a Reference
    references  which of them have the operator
    clamp       of the outputs: values inside tell of the arithmetic
    """

    operator: str
    model: bytes
    inputs: tuple
    golden: Callable
    text: str
    references: tuple = BOTH
    clamp: tuple = (INT8_MIN, INT8_MAX)


def graph(operator, operands, results, golden, references=None, clamp=Drawn.clamp, before=None, **options):
    """The Drawn of one operator.

    `golden` takes a Reference and gives an output, or a list of them, as the golden model has them. LiteRT alone has
    uint8; other operators that one reference lacks say so. `before` adds operators before it: it takes the Builder and
    the index of the first operand, and gives another index.
    """
    builder = Builder()
    indices = [operand.add_to(builder) for operand in operands]
    outputs = [operand.add_to(builder) for operand in results]
    sources = [index for index, operand in zip(indices, operands, strict=True) if not operand.constant]
    if before:
        indices[0] = before(builder, indices[0])
    builder.operator(operator, indices, outputs, **options)

    def stored(reference):
        values = golden(reference)
        values = values if isinstance(values, list | tuple) else [values]
        return [
            to_uint8(value) if operand.kind == "uint8" else np.asarray(value)
            for value, operand in zip(values, results, strict=True)
        ]

    if any(operand.kind == "uint8" for operand in results):
        clamp = tuple(limit + UINT8_OFFSET for limit in clamp)
    tensors = f"{', '.join(map(str, operands))} -> {', '.join(map(str, results))}"
    settings = " ".join(f"{key}={value}" for key, value in options.items())
    return Drawn(
        operator,
        builder.pack(sources, outputs),
        tuple(operand.stored for operand in operands if not operand.constant),
        stored,
        f"{operator} {tensors} {settings}",
        references or (LITERT if all(operand.kind == "uint8" for operand in (operands[0], results[0])) else BOTH),
        clamp,
    )


# ---- Draws ----


def whole(rng, low, high):
    """An int from `low` to `high`."""
    return int(rng.integers(low, high, endpoint=True))


def chance(rng, probability):
    return bool(rng.random() < probability)


def draw_zero_point(rng):
    return int(rng.choice([-128, 0, 127, rng.integers(-128, 128)], p=[0.4, 0.1, 0.05, 0.45]))


def draw_quantization(rng, scale=None):
    scale = np.exp(rng.uniform(np.log(0.003), np.log(0.3))) if scale is None else scale
    return Quantization(scale, draw_zero_point(rng))


def draw_activation(rng):
    """A fused activation's name and its number in the schema."""
    name = str(rng.choice(list(ACTIVATIONS), p=[0.4, 0.25, 0.1, 0.25]))
    return name, getattr(schema.ActivationFunctionType, name)


def draw_shape(rng, low=1, high=4, largest=9):
    """A shape of `low` to `high` axes."""
    return tuple(whole(rng, 1, largest) for _ in range(whole(rng, low, high)))


def draw_map(rng, channels):
    """The shape of a map of at most so many channels."""
    return whole(rng, 1, 2), whole(rng, 1, 13), whole(rng, 1, 13), whole(rng, 1, channels)


def draw_values(rng, shape, zero_point=0, narrow=False):
    """Int8 values over the whole range, or narrowly around the zero point."""
    values = zero_point + rng.integers(-3, 4, shape) if narrow else rng.integers(-128, 128, shape)
    return np.clip(values, -128, 127).astype(np.int8)


def draw_axis(rng, rank):
    """An axis, from the front or from the end."""
    return whole(rng, -rank, rank - 1)

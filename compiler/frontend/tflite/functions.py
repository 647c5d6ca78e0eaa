# SPDX-License-Identifier: Apache-2.0
"""Replacement of tables by TensorFlow Lite operators with the same table, or nearly the same.

A replacement is one function, or several operators, as TensorFlow Lite's own converter writes them.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Constant, Quantized, QuantizedConstant
from eyrie.compiler.operators.elementwise import Add, Mul
from eyrie.compiler.operators.functions import Logistic
from eyrie.compiler.operators.lookup import Function, Lookup
from eyrie.compiler.operators.registry import functions_of_one_value
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.tables import LOGISTIC_OUTPUT, VALUES

NEAR = 1  # largest difference between a table and its replacement
NEAR_OF_SEVERAL = 2  # if several operators replace it, each of which rounds
_GELU = 0.044715, (2 / np.pi) ** 0.5  # GELU(x) = x * logistic(2 b x (1 + a x^2)), but for 0.0005


def nodes_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes that replace a Lookup. Raise Unsupported if TensorFlow Lite has no such operators."""
    assert isinstance(node.operator, Lookup)
    source, output = quantized(node.inputs[0]), quantized(node.outputs[0])
    function = _function(node.operator.entries, source.quantization, output.quantization)
    if function is not None:
        return (Node(function, node.where, (source,), (output,)),)
    for several in (_silu, _hard_sigmoid, _gelu, _square, partial(_line, entries=node.operator.entries)):
        nodes = tuple(several(_Writing(node.where, output.name), source, output))
        if nodes and np.abs(_entries(nodes, source, output) - node.operator.entries).max() <= NEAR_OF_SEVERAL:
            return nodes
    raise Unsupported("TensorFlow Lite has no operator for this function of one value")


def _function(entries: np.ndarray, source: Quantization, output: Quantization) -> Function | None:
    """Return the operator with the nearest table, None if no table is near."""
    found = []
    functions = [function for record in functions_of_one_value() for function in record.near(entries, source, output)]
    for number, function in enumerate(functions):
        try:
            away = np.abs(function.table(source, output).astype(int) - entries).max()
        except InputError:  # it has a scale of its own
            continue
        found.append((away, number))
    away, number = min(found)
    return functions[number] if away <= NEAR else None


class _Writing:
    """The tensors and nodes of one place, with unique names."""

    def __init__(self, where: str, name: str) -> None:
        self.where, self.name = where, name

    def tensor(self, name: str, like: Quantized, low: float, high: float) -> Quantized:
        """Return an int8 tensor whose values go from `low` to `high`."""
        scale = (high - low) / 255
        quantization = Quantization(scale, int(np.clip(round(-128 - low / scale), -128, 127)))
        return Quantized(name=f"{self.name}/{name}", shape=like.shape, dtype="int8", quantization=quantization)

    def constant(self, name: str, like: Quantized, value: float) -> QuantizedConstant:
        data = np.full((1,) * len(like.shape), 127 if value > 0 else -127, np.int8)
        quantization = Quantization(abs(value) / 127, 0)
        return QuantizedConstant(
            name=f"{self.name}/{name}", shape=data.shape, dtype="int8", quantization=quantization, data=data
        )

    def add(self, one: Quantized, other: Quantized, output: Quantized, activation: str = "NONE") -> Node:
        return Node(Add(activation=activation), self.where, (one, other), (output,))

    def mul(self, one: Quantized, other: Quantized, output: Quantized) -> Node:
        return Node(Mul(activation="NONE"), self.where, (one, other), (output,))

    def gated(self, source: Quantized, by: Quantized, output: Quantized) -> Iterator[Node]:
        """Yield the nodes of source * logistic(by)."""
        gate = Quantized(name=f"{self.name}/gate", shape=source.shape, dtype="int8", quantization=LOGISTIC_OUTPUT)
        yield Node(Logistic(), self.where, (by,), (gate,))
        yield self.mul(source, gate, output)


def _silu(to: _Writing, source: Quantized, output: Quantized) -> Iterator[Node]:
    return to.gated(source, source, output)


def _hard_sigmoid(to: _Writing, source: Quantized, output: Quantized) -> Iterator[Node]:
    raised = to.tensor("raised", source, 0, 6)
    yield to.add(source, to.constant("three", source, 3), raised, "RELU6")
    yield to.mul(raised, to.constant("sixth", source, 1 / 6), output)


def _gelu(to: _Writing, source: Quantized, output: Quantized) -> Iterator[Node]:
    """Yield the nodes of x times a logistic of w (w^2 + c). w is x, scaled so that the polynomial needs no other
    factor."""
    cubic, linear = 2 * _GELU[1] * _GELU[0], 2 * _GELU[1]
    factor = cubic ** (1 / 3)
    of = source.quantization
    largest = min(3.0, of.scale * max(127 - of.zero_point, 128 + of.zero_point)) * factor
    scaled = Quantized(
        name=f"{to.name}/scaled",
        shape=source.shape,
        dtype="int8",
        quantization=Quantization(of.scale * factor, of.zero_point),
    )
    square, added = to.tensor("square", source, 0, largest**2), linear / factor
    steep = to.tensor("steep", source, 0, largest**2 + added)
    bound = largest * (largest**2 + added)
    exponent = to.tensor("exponent", source, -bound, bound)
    yield to.mul(source, to.constant("factor", source, factor), scaled)
    yield to.mul(scaled, scaled, square)
    yield to.add(square, to.constant("added", source, added), steep)
    yield to.mul(scaled, steep, exponent)
    yield from to.gated(source, exponent, output)


def _square(to: _Writing, source: Quantized, output: Quantized) -> Iterator[Node]:
    yield to.mul(source, source, output)


def _line(to: _Writing, source: Quantized, output: Quantized, entries: np.ndarray) -> Iterator[Node]:
    """Yield the nodes of a factor and an offset, found by the entries that are not clipped."""
    of, by = source.quantization, output.quantization
    inside = (entries > -128) & (entries < 127)
    if inside.sum() < 2:
        return
    x = (VALUES.astype(float) - of.zero_point) * of.scale
    factor, offset = np.polyfit(x[inside], (entries[inside].astype(float) - by.zero_point) * by.scale, 1)
    unscaled, unmoved = abs(factor - 1) * np.abs(x).max() < by.scale / 2, abs(offset) < by.scale / 2
    scaled = source
    if not unscaled and factor:
        scaled = output if unmoved else to.tensor("scaled", source, *sorted((x[0] * factor, x[-1] * factor)))
        yield to.mul(source, to.constant("factor", source, factor), scaled)
    if not unmoved:
        yield to.add(scaled, to.constant("offset", source, offset), output)


def _entries(nodes: tuple[Node, ...], source: Quantized, output: Quantized) -> np.ndarray:
    """Return the table that nodes make, by the golden model."""
    known = {source.name: VALUES.astype(np.int8)}
    for node in nodes:
        taken = (each.data.reshape(-1) if isinstance(each, Constant) else known[each.name] for each in node.inputs)
        [known[node.outputs[0].name]] = node.run(tuple(taken))
    return known[output.name].astype(int)

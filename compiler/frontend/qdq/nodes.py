# SPDX-License-Identifier: Apache-2.0
"""The nodes of the Graph in progress, and the names of their tensors."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Target
from eyrie.compiler.ir.tensor import Quantized, QuantizedConstant, Tensor
from eyrie.compiler.operators.lookup import Lookup
from eyrie.compiler.operators.shapes import Transpose
from eyrie.compiler.operators.weights import Weighted
from eyrie.model.operators.tables import VALUES

MOST_COUNTS = 1 << 30  # of a result before it is clipped: TensorFlow Lite computes it in int32


class Nodes(Fold):
    """The nodes of the Graph so far, and the names of their tensors."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._names: set[str] = set()
        self._ordered: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def node(
        self,
        where: str,
        operator: Operator,
        inputs: tuple[Tensor, ...],
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        target: Target,
    ) -> Held:
        if _largest(operator, inputs) > MOST_COUNTS * target.quantization.scale:
            raise Unsupported("its sums do not fit int32 in the scale of its result: quantise it by a larger scale")
        name = self.name(target.name, axes)
        output = Quantized(name=name, shape=tuple(shape), dtype="int8", quantization=target.quantization)
        self.nodes.append(Node(operator, where, inputs, (output,)))
        return Held(output, tuple(axes))

    def lookup(self, operation: Operation, source: Held, entries: np.ndarray, target: Target) -> Held:
        if source.quantization == target.quantization and (entries == VALUES).all():
            return source
        operator = Lookup(entries=entries)
        return self.node(operation.where, operator, (source.tensor,), source.tensor.shape, source.axes, target)

    def constant(self, codes: np.ndarray, target: Target) -> Held:
        tensor = QuantizedConstant(
            name=self.name(target.name), shape=codes.shape, dtype="int8", data=codes, quantization=target.quantization
        )
        return Held(tensor, tuple(range(codes.ndim)))

    def ordered(self, held: Held, order: tuple[int, ...], where: str, name: str = "") -> Tensor:
        steps = tuple(held.axes[axis] for axis in order)
        if steps == tuple(range(len(steps))):
            return held.tensor
        key = held.tensor.name, steps
        if key not in self._ordered:
            axes = tuple(int(axis) for axis in np.argsort(order))
            name = self.name(name or held.tensor.name.partition("#")[0], axes)
            self._ordered[key] = self._transposed(held.tensor, steps, where, name)
        return self._ordered[key]

    def _transposed(self, tensor: Tensor, steps: tuple[int, ...], where: str, name: str) -> Tensor:
        """Return the tensor whose axis n is axis steps[n] of this one."""
        shape = tuple(tensor.shape[axis] for axis in steps)
        if isinstance(tensor, QuantizedConstant):
            return replace(tensor, name=name, shape=shape, data=tensor.data.transpose(steps))
        made = replace(tensor, name=name, shape=shape)
        place = where or next((node.where for node in self.nodes if tensor in node.outputs), "#0")
        self.nodes.append(Node(Transpose(axes=steps), place, (tensor,), (made,)))
        return made

    def name(self, base: str, axes: tuple[int, ...] = ()) -> str:
        """Return a new tensor name. A "#" begins the part that the compiler adds. axes: as in Held"""
        base = printable(base)
        if tuple(axes) != tuple(range(len(axes))):
            base += "#" + "".join(map(str, np.argsort(axes)))
        name, count = base, 1
        while name in self._names or not name:
            count += 1
            name = f"{base}{'.' if '#' in base else '#'}{count}"
        self._names.add(name)
        return name


def names_of_ends(graph: Graph, given: Sequence[str]) -> dict[str, str]:
    """Return new names of tensors, so that the outputs have the given ones: codes may have taken the name of their
    values.

    Raise ModelImportError if two outputs are one tensor.
    """
    names, inputs, seen = dict[str, str](), {each.name for each in graph.inputs}, dict[str, str]()
    for tensor, name in zip(graph.outputs, given, strict=True):
        if tensor.name in seen:
            raise ModelImportError(
                f"the model's outputs {seen[tensor.name]} and {name} have the same values",
                remedy="export the model with one of them",
            )
        seen[tensor.name] = name
        if tensor.name not in inputs and printable(name) not in (*inputs, *names.values()):
            names[tensor.name] = printable(name)
    freed = [name for name in names if name not in names.values()]
    taken = [name for name in names.values() if name not in names]
    return names | dict(zip(taken, freed, strict=True))


def printable(name: str) -> str:
    """Return a framework's name without letters that a text cannot have, and without "#"."""
    return "".join(letter if letter.isprintable() and letter != "#" else "?" for letter in name)


def _largest(operator: Operator, inputs: tuple[Tensor, ...]) -> float:
    """Return a bound of an operator's sums, in real numbers."""
    scales = [each.quantization.scale for each in inputs if isinstance(each, Quantized)]
    if isinstance(operator, Weighted):
        sums = 255 * 127 * (operator.filters.size // operator.outputs) + int(np.abs(operator.bias.astype(int)).max())
        return sums * float(operator.scales.max()) * scales[0]
    if operator.name == "BATCH_MATMUL":
        return inputs[0].shape[-1] * 255.0**2 * prod(scales)
    if operator.name in ("MUL", "PRELU"):
        return 255.0 ** len(scales) * prod(scales)
    return 2 * 255 * max(scales, default=0)

# SPDX-License-Identifier: Apache-2.0
"""Lowering of a Graph: the kernel calls of each operator, the address of each tensor, and the caller's arrays."""

from dataclasses import dataclass

from eyrie.compiler.c.arena import Lifetime, placed
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.kernel_calls.steps import Calls, Operand, Step, bytes_of
from eyrie.compiler.operators.record import Record
from eyrie.compiler.passes.fold_pads import fold_pads

_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Lowered:
    """steps: in their order; every operand is of a tensor with bytes of its own: an array of the caller's (inputs,
    outputs: by tensor of the graph), a constant, or one in the arena (places: by name).

    arena_bytes  of all in the arena
    least_bytes  of what waits in it at once: no arena is smaller
    """

    steps: tuple[Step, ...]
    inputs: tuple[tuple[Tensor, Tensor], ...]
    outputs: tuple[tuple[Tensor, Tensor], ...]
    places: dict[str, int]
    arena_bytes: int
    least_bytes: int


def lower(graph: Graph) -> Lowered:
    """Lower a graph.

    PAD becomes part of the layer after it, because a padded map takes as much memory as the map. A function of one
    value that has no kernel here becomes a table. Raise Unsupported if an operator cannot be written as C.
    """
    quantised = any(isinstance(each, Quantized) for node in graph.nodes for each in (*node.inputs, *node.outputs))
    calls, graph = Calls(quantised), fold_pads(graph)
    for node in graph.nodes:
        _check_sizes(node)
        _lower(node, calls)
    ends = _Ends(calls)
    inputs = tuple((tensor, ends.input(tensor)) for tensor in graph.inputs)
    outputs = tuple((tensor, ends.output(tensor, number)) for number, tensor in enumerate(graph.outputs))
    steps = ends.steps({tensor.name for _, tensor in outputs})
    callers = {tensor.name for _, tensor in (*inputs, *outputs)}
    lifetimes = _lifetimes(steps, callers)
    places, size, least = placed(lifetimes)
    return Lowered(steps, inputs, outputs, places, size, least)


def _lower(node: Node, calls: Calls) -> None:
    operator = node.operator
    if not isinstance(operator, Record):
        reason = operator.reason if isinstance(operator, Unknown) else "is not written as C"
        raise Unsupported(f"{node.place}: {reason}", layer=node.where)
    operator.to_c(node, calls)


def _check_sizes(node: Node) -> None:
    for tensor in (*node.inputs, *node.outputs):
        if (size := bytes_of(tensor)) > _MOST_BYTES:
            raise Unsupported(
                f"{node.place}: tensor {tensor.name} has {size:,} bytes",
                layer=node.where,
                demand=size,
                bound=_MOST_BYTES,
                remedy="have smaller maps or a smaller batch",
            )


class _Ends:
    """The inputs and outputs of the network: assigns tensors to arrays of the caller, and adds steps that convert
    between uint8 and int8."""

    def __init__(self, calls: Calls) -> None:
        self._steps, self._views = calls.steps, calls.views
        self._callers: dict[str, Tensor] = {}  # arrays of the caller's, by the tensor that lies there

    def _root(self, tensor: Tensor) -> Tensor:
        """Return the tensor that owns the bytes of a tensor."""
        while tensor.name in self._views:
            tensor = self._views[tensor.name]
        return self._callers.get(tensor.name, tensor)

    def input(self, tensor: Tensor) -> Tensor:
        """Return the array in which the caller passes an input."""
        if not _unsigned(tensor):
            self._callers[tensor.name] = tensor
            return tensor
        given = Tensor(name=f"#uint8 {tensor.name}", shape=tensor.shape, dtype="uint8")
        flip = Step("flip", {"count": tensor.size}, (Operand(given),), Operand(tensor), f"input {tensor.name}")
        self._steps.insert(self._first_reading(tensor), flip)
        return given

    def output(self, tensor: Tensor, number: int) -> Tensor:
        """Return the array in which the caller gets the tensor: its own array, or one into which a step copies it."""
        root = self._root(tensor)
        written = [at for at, step in enumerate(self._steps) if self._root(step.output.tensor) == root]
        if written and not _unsigned(tensor) and root.name not in {each.name for each in self._callers.values()}:
            self._callers[root.name] = root
            return root
        unsigned = _unsigned(tensor)
        given = Tensor(name=f"#output {number}", shape=tensor.shape, dtype="uint8" if unsigned else tensor.dtype)
        kernel, count = ("flip", "count") if unsigned else ("copy", "bytes")
        step = Step(kernel, {count: bytes_of(tensor)}, (Operand(root),), Operand(given), f"output {tensor.name}")
        self._steps.insert(max(written, default=-1) + 1, step)
        self._callers[given.name] = given
        return given

    def _first_reading(self, tensor: Tensor) -> int:
        return next(
            (
                at
                for at, step in enumerate(self._steps)
                if any(self._root(operand.tensor) == tensor for operand in step.inputs)
            ),
            len(self._steps),
        )

    def steps(self, outputs: set[str]) -> tuple[Step, ...]:
        """Return the steps that an output depends on. The tensors of a step are the ones that own their bytes."""
        needed, kept = set(outputs), []
        for step in reversed(self._steps):
            inputs, output = tuple(map(self._own, step.inputs)), self._own(step.output)
            if output.tensor.name in needed:
                needed |= {operand.tensor.name for operand in inputs}
                kept.append(Step(step.kernel, step.settings, inputs, output, step.place))
        return tuple(reversed(kept))

    def _own(self, operand: Operand) -> Operand:
        return Operand(self._root(operand.tensor), operand.offset)


def _unsigned(tensor: Tensor) -> bool:
    return isinstance(tensor, Quantized) and tensor.unsigned


def _lifetimes(steps: tuple[Step, ...], callers: set[str]) -> list[Lifetime]:
    """Return the lifetimes of the tensors in the arena."""
    found: dict[str, Lifetime] = {}
    for at, step in enumerate(steps):
        for tensor in (*(operand.tensor for operand in step.inputs), step.output.tensor):
            if tensor.name not in callers and not isinstance(tensor, Constant):
                first = found[tensor.name].first if tensor.name in found else at
                found[tensor.name] = Lifetime(tensor.name, bytes_of(tensor), first, at)
    return list(found.values())

# SPDX-License-Identifier: Apache-2.0
"""Bank mapping as published (arXiv:2002.12798, section 2.2). docs/research/movement.md has the rules and assumptions.

Copies are between memories whose banks have addresses of their own, each next to a part of the array. Local mapping:
each operator by itself; a tensor that the next operator does not read goes through DRAM. Global mapping: the mappings
that operators require are propagated through the network, and all tensors stay on chip.
"""

from dataclasses import dataclass
from typing import NamedTuple

from eyrie.compiler.ir.graph import Graph, Node, map_shape
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import Windowed
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.mean import Mean
from eyrie.compiler.operators.pooling import Pool
from eyrie.compiler.operators.weights import Weighted

ROWS, COLUMNS = 128, 64  # of an array: banks that it reads, banks that it writes


class Mapping(NamedTuple):
    """The mapping of a tensor to banks: the dimension of the map, and the number of banks."""

    dimension: str
    banks: int

    def __str__(self) -> str:
        return f"{self.dimension} over {self.banks}"


@dataclass(frozen=True)
class Array:
    """An array. rows: banks that it reads from; columns: banks that it writes to"""

    rows: int = ROWS
    columns: int = COLUMNS

    def __str__(self) -> str:
        return f"an array that reads from {self.rows} banks and writes to {self.columns}"

    def taken(self, node: Node, tensor: Tensor) -> Mapping | None:
        """Return the mapping that an operator requires of an input, None if it accepts any and makes the same."""
        if isinstance(node.operator, (Weighted, Pool, Mean)):
            return Mapping("channels", min(_channels(node, tensor), self.rows))
        return None

    def made(self, node: Node) -> Mapping | None:
        """Return the mapping of an operator's result, None if it is free."""
        (channels,) = map_shape(node.outputs[0].shape)[2:]
        if isinstance(node.operator, (Windowed, FullyConnected)):
            return Mapping("channels", min(channels, self.columns))
        return self.taken(node, node.inputs[0])

    def by_itself(self, tensor: Tensor) -> Mapping:
        """Return the mapping of an operator without requirements: the outer dimension."""
        return Mapping("rows", min(map_shape(tensor.shape)[0], self.rows))


def _channels(node: Node, tensor: Tensor) -> int:
    """Return the number of channels. For a fully connected layer, all values are channels."""
    return tensor.size if isinstance(node.operator, FullyConnected) else map_shape(tensor.shape)[2]


@dataclass(frozen=True)
class Copy:
    """A copy of a tensor from one mapping to another on chip. None: a tensor that no operator has mapped"""

    tensor: Tensor
    made: Mapping | None
    taken: Mapping | None

    def __str__(self) -> str:
        return f"{self.tensor.name:24} {self.tensor.size:10,}  {self.made} -> {self.taken}"


@dataclass(frozen=True)
class Movement:
    """The movement of tensors. copies: on chip; off_chip: bytes between DRAM and chip"""

    copies: tuple[Copy, ...]
    off_chip: int

    @property
    def on_chip(self) -> int:
        """Return the bytes of all copies on chip."""
        return sum(copy.tensor.size for copy in self.copies)


def compulsory(graph: Graph) -> int:
    """Return the bytes of inputs, outputs and weights."""
    weights = sum(node.operator.filters.nbytes for node in graph.nodes if isinstance(node.operator, Weighted))
    return weights + sum(tensor.size for tensor in (*graph.inputs, *graph.outputs))


def local(graph: Graph, array: Array) -> Movement:
    """Return the movement with a mapping for each operator. A tensor stays on chip for the next operator, and comes
    from DRAM for later ones."""
    copies, stored = [], 0
    before: Node | None = None
    for node in graph.nodes:
        for tensor in node.activations:
            taken = array.taken(node, tensor) or array.by_itself(tensor)
            if before and tensor in before.outputs:
                made = array.made(before) or array.by_itself(before.outputs[0])
                if made != taken:
                    copies.append(Copy(tensor, made, taken))
        before = node
    ends = {tensor.name for tensor in graph.outputs}
    for n, node in enumerate(graph.nodes):
        for tensor in node.outputs:
            later = [each for each in graph.nodes[n + 2 :] if tensor in each.activations]
            stored += tensor.size * (len(later) + bool(later and tensor.name not in ends))
    again = sum(tensor.size * (len(graph.readers.get(tensor.name, [])) - 1) for tensor in graph.inputs)
    return Movement(tuple(copies), compulsory(graph) + stored + again)


def propagated(graph: Graph, array: Array) -> dict[str, Mapping]:
    """Return the mapping of each tensor by name, to a fixed point.

    Mappings go from operators that require them to their results, through other operators, then backwards to tensors
    that have none.
    """
    found = {tensor.name: mapping for node in graph.nodes if (mapping := array.made(node)) for tensor in node.outputs}
    size = -1
    while size < len(found):
        size = len(found)
        for node in graph.nodes:
            known = [found[tensor.name] for tensor in node.activations if tensor.name in found]
            for tensor in node.outputs if known else ():
                found.setdefault(tensor.name, known[0])
        for node in reversed(graph.nodes):
            for tensor in node.activations:
                wanted = array.taken(node, tensor) or found.get(node.outputs[0].name)
                if wanted:
                    found.setdefault(tensor.name, wanted)
    return found


def everywhere(graph: Graph, array: Array) -> Movement:
    """Return the movement with propagated mappings: a copy for each other mapping that readers of a tensor require."""
    found, copies = propagated(graph, array), {}
    for node in graph.nodes:
        for tensor in node.activations:
            made = found.get(tensor.name)
            taken = array.taken(node, tensor) or found.get(node.outputs[0].name)
            if made != taken:
                copies[tensor.name, taken] = Copy(tensor, made, taken)
    return Movement(tuple(copies.values()), compulsory(graph))


def most_on_chip(graph: Graph) -> int:
    """Return the peak bytes of live tensors if all stay on chip."""
    last = {tensor.name: n for n, node in enumerate(graph.nodes) for tensor in node.activations}
    there, most = {tensor.name: tensor.size for tensor in graph.inputs}, 0
    for n, node in enumerate(graph.nodes):
        there |= {tensor.name: tensor.size for tensor in node.outputs}
        most = max(most, sum(there.values()))
        there = {name: size for name, size in there.items() if last.get(name, -1) > n}
    return most


def describe(graph: Graph, array: Array) -> str:
    """Return the copies that remain with global mapping, and the bytes of both mappings."""
    one, all_ = local(graph, array), everywhere(graph, array)
    lines = [str(copy) for copy in all_.copies]
    for what, before, after in (("on chip", one.on_chip, all_.on_chip), ("off chip", one.off_chip, all_.off_chip)):
        share = f"{100 * (1 - after / before):.1f} % less" if before else "no bytes to save"
        lines.append(f"{what:8} local {before:12,} bytes, global {after:12,}: {share}")
    lines.append(
        f"{len(one.copies)} copies on chip by local mapping, {len(all_.copies)} by global mapping; "
        f"at most {most_on_chip(graph):,} bytes of tensors on chip at once"
    )
    return "\n".join(lines)

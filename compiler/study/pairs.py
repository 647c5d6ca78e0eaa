# SPDX-License-Identifier: Apache-2.0
"""Load-store pairs (arXiv:2002.12798, section 2.1): operators that load a tensor only to store it in another order.

A pair is a tensor that such an operator makes; it has as many bytes as the tensor.
"""

from collections.abc import Callable
from dataclasses import dataclass

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.move import Movement


@dataclass(frozen=True, eq=False)
class Pair:
    """A tensor and the data-movement operator that makes it."""

    node: Node
    tensor: Tensor

    @property
    def bytes(self) -> int:
        """Return the bytes of int8 values."""
        return self.tensor.size


def pairs(graph: Graph) -> list[Pair]:
    return [
        Pair(node, tensor) for node in graph.nodes if isinstance(node.operator, Movement) for tensor in node.outputs
    ]


def describe(before: Graph, after: Graph, why: Callable[[Graph, Node], str]) -> str:
    """Return a line per pair with its result, then sums. why: returns the reason why a data-movement operator
    remains"""
    makers = {tensor.name: node for node in after.nodes for tensor in node.outputs}
    lines = [
        f"{pair.node.where:6} {pair.node.operator.name:24} {pair.tensor.name:20} {pair.bytes:10,}  "
        f"{_fate(pair, before, after, makers, why)}"
        for pair in pairs(before)
    ]
    return "\n".join([*lines, _sum("before", before), _sum("after", after)])


def _fate(pair: Pair, before: Graph, after: Graph, makers: dict[str, Node], why: Callable[[Graph, Node], str]) -> str:
    tensor, readers = pair.tensor, before.readers
    while tensor.name not in makers:
        behind = readers.get(tensor.name, [])
        if not behind:
            return "gone: no operator reads it"
        tensor = behind[0].outputs[0]
    node = makers[tensor.name]
    there = tensor is pair.tensor and isinstance(node.operator, Movement)
    return f"left: {why(after, node)}" if there else f"gone: done by {node.where} {node.operator.name}"


def _sum(when: str, graph: Graph) -> str:
    found = pairs(graph)
    return f"{when:6} {len(found):6} pairs {sum(pair.bytes for pair in found):12,} bytes"

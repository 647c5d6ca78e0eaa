# SPDX-License-Identifier: Apache-2.0
"""The gain of double buffering on a memory hierarchy, operator by operator.

Source: section 5.3.2.3 of the dissertation that docs/howto/buffers.md names.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from eyrie.compiler.buffers.nests import Nest, nest_of
from eyrie.compiler.buffers.network import programmed, shortest
from eyrie.compiler.ir.buffer_tree import BufferTree
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.passes.simplify import simplified


@dataclass(frozen=True)
class Doubling:
    """Cycles of an operator, or the sum of several.

    single   with one place for each operand
    doubled  with two places for each operand that changes from tile to tile
    best     the smaller of the two, operator by operator
    bound    the longer of computing and transfers in the best program: the dissertation's model of instructions that
             are optimised by hand
    """

    single: int = 0
    doubled: int = 0
    best: int = 0
    bound: int = 0

    def __add__(self, other: "Doubling") -> "Doubling":
        return Doubling(
            self.single + other.single,
            self.doubled + other.doubled,
            self.best + other.best,
            self.bound + other.bound,
        )

    @property
    def gain(self) -> float:
        """Return by how many percent double buffering is faster if only operators that gain use it."""
        return 100 * (self.single / self.best - 1)

    @property
    def change(self) -> float:
        """Return by how many percent double buffering of all operators is faster; negative if it is slower."""
        return 100 * (self.single / self.doubled - 1)


def nests_of(graph: Graph) -> list[Nest]:
    """Return the loop nests of a network, without operators that are no loops over tiles."""
    return [nest for node in simplified(graph).nodes if (nest := nest_of(node))]


class Doublings:
    """Doubling of nests on memory hierarchies. Nests with the same loops share a result."""

    def __init__(self) -> None:
        self._known: dict[tuple, Doubling] = {}

    def of(self, nests: Iterable[Nest], tree: BufferTree) -> Doubling:
        """Return the sum over nests. Raise DoesNotFit if a nest does not fit."""
        return sum((self._one(nest, tree) for nest in nests), Doubling())

    def _one(self, nest: Nest, tree: BufferTree) -> Doubling:
        operands = tuple(nest.operands.items())
        key = tree, nest.work, nest.sizes, nest.window, nest.multiplier, operands
        if key not in self._known:
            self._known[key] = doubling(nest, tree)
        return self._known[key]


def doubling(nest: Nest, tree: BufferTree) -> Doubling:
    """Return the cycles of a nest on a memory hierarchy with greedy tiles. Raise DoesNotFit if no tile fits."""
    found = programmed(nest, tree, True)
    single, doubled, best = (each.timing for each in (found[0], found[-1], shortest(found)))
    return Doubling(single.cycles, doubled.cycles, best.cycles, max(best.computing, best.transferring))

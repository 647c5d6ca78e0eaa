# SPDX-License-Identifier: Apache-2.0
"""The choice of tile sizes for each level of the memory hierarchy: greedy or exhaustive.

The greedy choice starts with a small tile and repeats the enlargement that saves most cycles.

Source: section 5.2.5.3 of the dissertation that docs/howto/buffers.md names.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from eyrie.compiler.buffers.nests import CHANNELS, COLUMNS, FILTERS, ROWS, Nest, Sizes
from eyrie.compiler.ir.buffer_tree import BufferTree, Memory, Role
from eyrie.compiler.ir.failure import DoesNotFit

ORDERS = ((ROWS, COLUMNS, FILTERS, CHANNELS), (FILTERS, ROWS, COLUMNS, CHANNELS))  # outermost first; sums stay


@dataclass(frozen=True)
class Partition:
    """The tile sizes of a nest.

    tiles: for each level of buffers, from DRAM on; orders: of the loops over the tiles; doubled: double buffering of
    operands that are loaded or made tile by tile
    """

    tiles: tuple[Sizes, ...]
    orders: tuple[tuple[int, ...], ...]
    doubled: bool


class Partitioner:
    """The search for the partition of a nest on an accelerator. tried: number of tiles whose cycles were computed."""

    def __init__(self, nest: Nest, tree: BufferTree, doubled: bool) -> None:
        self.nest, self.tree, self.doubled = nest, tree, doubled
        unit, sums = tree.unit(nest.work), tree.path(Role.SUMS)
        self._grain = unit.sizes
        self._sums_from = tree.depth(sums[0]) if sums else tree.levels + 1
        self._held = [  # by depth: the operands in each buffer
            {
                memory: [role for role in memory.holds if role in nest.operands]
                for memory in tree.memories
                if tree.depth(memory) == depth
            }
            for depth in range(tree.levels + 1)
        ]
        self.tried = 0

    def greedy(self) -> Partition:
        """Return the greedy partition. Raise DoesNotFit if no tile fits."""
        return self._partition(self._grown)

    def exhaustive(self) -> Partition:
        """Return the partition that has the tile with the fewest transfer cycles at each level. Raise DoesNotFit."""
        return self._partition(self._best)

    def cycles(self, partition: Partition, depth: int) -> float:
        """Return the cycles of transfers into and out of the buffers of a level, for one tile of the level around
        it."""
        return self._cycles(depth, partition.tiles[:depth], partition.orders[depth - 1])

    def _partition(self, choose: Callable[[int, tuple[Sizes, ...]], Sizes]) -> Partition:
        tiles, orders = list[Sizes](), list[tuple[int, ...]]()
        for depth in range(1, self.tree.levels + 1):
            tiles.append(choose(depth, tuple(tiles)))
            orders.append(min(ORDERS, key=lambda order: self._cycles(depth, tuple(tiles), order)))
        return Partition(tuple(tiles), tuple(orders), self.doubled)

    def places(self, role: Role, depth: int, tiles: tuple[Sizes, ...]) -> int:
        """Return the number of tiles of an operand in a buffer: 2 with double buffering of tiles that come or go in
        turn."""
        if not self.doubled or role is Role.SUMS:
            return 1
        sizes = [self.nest.sizes, *tiles]
        loops = self.nest.operands[role].loops
        turns = prod(-(-sizes[n][loop] // sizes[n + 1][loop]) for n in range(depth) for loop in loops)
        return 2 if turns > 1 else 1

    def needed(self, memory: Memory, tiles: tuple[Sizes, ...]) -> int:
        """Return the bytes of a buffer that tiles need."""
        depth = self.tree.depth(memory)
        return self._needed(depth, memory, self._held[depth][memory], tiles)

    def _needed(self, depth: int, memory: Memory, roles: list[Role], tiles: tuple[Sizes, ...]) -> int:
        return sum(
            self.places(role, depth, tiles) * aligned(self.nest.largest(role, tiles[depth - 1]), memory)
            for role in roles
        )

    def _grown(self, depth: int, outer: tuple[Sizes, ...]) -> Sizes:
        """Return a tile. It starts with the size that a unit processes in a cycle, or with 1, and grows loop by loop.

        Raise DoesNotFit if no tile fits.
        """
        around = (self.nest.sizes, *outer)[-1]
        whole = (CHANNELS,) if depth < self._sums_from else ()
        for grain in (self._grain, (1, 1, 1, 1)):
            tile = _sizes(
                size if loop in whole else min(size, step) for loop, (size, step) in enumerate(zip(around, grain))
            )
            if not self._too_small(depth, (*outer, tile)):
                break
        else:
            raise self._failure(depth, (*outer, tile))
        while larger := [each for each in _larger(tile, around, grain) if not self._too_small(depth, (*outer, each))]:
            tile = min(larger, key=lambda each: self._least_cycles(depth, (*outer, each)))
        return tile

    def _best(self, depth: int, outer: tuple[Sizes, ...]) -> Sizes:
        around = (self.nest.sizes, *outer)[-1]
        whole = (CHANNELS,) if depth < self._sums_from else ()
        sizes = [
            [size] if loop in whole else sorted({-(-size // count) for count in range(1, size + 1)})
            for loop, size in enumerate(around)
        ]
        fitting = [tile for tile in map(_sizes, product(*sizes)) if not self._too_small(depth, (*outer, tile))]
        if not fitting:
            raise self._failure(depth, (*outer, _sizes(each[0] for each in sizes)))
        return min(fitting, key=lambda tile: self._least_cycles(depth, (*outer, tile)))

    def _too_small(self, depth: int, tiles: tuple[Sizes, ...]) -> Memory | None:
        """Return a buffer of a level that is too small, None if all are large enough."""
        return next(
            (
                memory
                for memory, roles in self._held[depth].items()
                if self._needed(depth, memory, roles, tiles) > memory.bytes
            ),
            None,
        )

    def _failure(self, depth: int, tiles: tuple[Sizes, ...]) -> DoesNotFit:
        memory = self._too_small(depth, tiles)
        assert memory is not None
        needed = self.needed(memory, tiles)
        return DoesNotFit(
            f"{self.nest.node.place}: needs at least {needed} bytes of buffer {memory.name}, but it has {memory.bytes}",
            layer=self.nest.node.where,
            demand=needed,
            bound=memory.bytes,
            remedy="use a larger buffer or a smaller layer",
        )

    def _least_cycles(self, depth: int, tiles: tuple[Sizes, ...]) -> float:
        self.tried += 1
        return min(self._cycles(depth, tiles, order) for order in ORDERS)

    def _cycles(self, depth: int, tiles: tuple[Sizes, ...], order: tuple[int, ...]) -> float:
        """Return the transfer cycles of a level for one order of the loops."""
        around, tile = (self.nest.sizes, *tiles)[depth - 1 : depth + 1]
        counts = [-(-size // part) for size, part in zip(around, tile)]
        cycles = 0.0
        for memory, roles in self._held[depth].items():
            for role in (role for role in roles if role is not Role.SUMS):
                loops = self.nest.operands[role].loops
                cut = [place for place, loop in enumerate(order) if loop in loops and counts[loop] > 1]
                times = prod(counts[loop] for loop in order[: max(cut, default=-1) + 1])
                cycles += times * (memory.latency + self.nest.largest(role, tile) / memory.width)
        return cycles


def _sizes(found: Iterable[int]) -> Sizes:
    rows, columns, filters, channels = found
    return rows, columns, filters, channels


def _larger(tile: Sizes, around: Sizes, grain: Sizes) -> Iterator[Sizes]:
    """Yield the larger tiles that need one tile fewer along a loop, in multiples of the grain."""
    for loop, (part, size, step) in enumerate(zip(tile, around, grain)):
        count = -(-size // part)
        if count > 1:
            fewer = -(-size // (count - 1))
            yield _sizes((*tile[:loop], min(size, -(-fewer // step) * step), *tile[loop + 1 :]))


def aligned(size: int, memory: Memory) -> int:
    return -(-size // memory.alignment) * memory.alignment

# SPDX-License-Identifier: Apache-2.0
"""Bytes and cycles of a program, computed from the accelerator's description.

Each buffer has one transfer at a time to or from its source, in program order, and each unit runs one operation at a
time. A transfer or an operation begins when its inputs are there and its destination is free. So with one place for
each operand, a load waits for the operation before it. With two places, it runs at the same time.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from eyrie.compiler.buffers.nests import Nest, Tile
from eyrie.compiler.buffers.program import Allocate, Compute, Load, Place, Program, Store
from eyrie.compiler.ir.buffer_tree import Role


@dataclass(frozen=True)
class Timing:
    """The timing of a program. computing: cycles of the unit; transferring: cycles of the busiest buffer's transfers;
    moved: bytes between each buffer and its source"""

    cycles: int
    computing: int
    transferring: int
    moved: dict[str, int]


def timing_of(program: Program) -> Timing:
    return _Clock(program).timing()


class _Clock:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._memories = {memory.name: memory for memory in program.tree.memories}
        self._unit = program.tree.unit(program.nest.work)
        self._there: dict[Place, int] = defaultdict(int)  # time when the contents are there
        self._used: dict[Place, int] = defaultdict(int)  # time when the contents are read last
        self._open: dict[Place, int] = defaultdict(int)  # time when the place can be written
        self._port: dict[str, int] = defaultdict(int)
        self._transferring: dict[str, int] = dict.fromkeys(self._memories, 0)
        self._busy = self._computing = 0
        self._moved: dict[str, int] = dict.fromkeys(self._memories, 0)

    def timing(self) -> Timing:
        for instruction in self._program.instructions:
            if isinstance(instruction, Allocate):
                self._allocate(instruction)
            elif isinstance(instruction, Load):
                self._load(instruction)
            elif isinstance(instruction, Store):
                self._store(instruction)
            else:
                self._compute(instruction)
        cycles = max(self._busy, *self._port.values())
        return Timing(cycles, self._computing, max(self._transferring.values()), self._moved)

    def _allocate(self, allocate: Allocate) -> None:
        self._open[allocate.place] = self._used[allocate.place]
        self._there[allocate.place] = 0

    def _load(self, load: Load) -> None:
        begins = [self._used[load.place]] + ([self._there[load.source]] if load.source else [])
        end = self._transferred(load, begins)
        self._open[load.place] = self._there[load.place] = end
        self._use([load.place, *([load.source] if load.source else [])], end)

    def _store(self, store: Store) -> None:
        begins = [self._there[store.place]] + ([self._open[store.target]] if store.target else [])
        end = self._transferred(store, begins)
        self._use([store.place], end)
        if store.target:
            self._there[store.target] = max(self._there[store.target], end)
            self._use([store.target], end)

    def _transferred(self, transfer: Load | Store, begins: list[int]) -> int:
        """Return the time when the transfer ends."""
        memory = self._memories[transfer.place.memory]
        itemsize = self._program.nest.operands[transfer.place.role].dtype.itemsize
        size = prod(last - first for first, last in transfer.region) * itemsize
        self._moved[memory.name] += size
        cycles = memory.latency + -(-size // memory.width)
        self._transferring[memory.name] += cycles
        end = max(self._port[memory.name], *begins) + cycles
        self._port[memory.name] = end
        return end

    def _compute(self, compute: Compute) -> None:
        made = [place for role, place in compute.places.items() if role in (Role.SUMS, Role.OUTPUT)]
        read = [place for role, place in compute.places.items() if role is not Role.OUTPUT]
        cycles = operation_cycles(self._program.nest, compute.tile, self._unit.sizes) + self._unit.latency
        begin = max(self._busy, *(self._there[place] for place in read), *(self._open[place] for place in made))
        self._busy = begin + cycles
        self._computing += cycles
        for place in made:
            self._there[place] = max(self._there[place], self._busy)
        self._use(compute.places.values(), self._busy)

    def _use(self, places: Iterable[Place], end: int) -> None:
        for place in places:
            self._used[place] = max(self._used[place], end)


def operation_cycles(nest: Nest, tile: Tile, at_once: tuple[int, ...]) -> int:
    """Return the cycles of a unit for a tile. at_once: rows, columns, filters and channels of one tap in a cycle."""
    return nest.window.taps * prod(-(-(last - first) // size) for (first, last), size in zip(tile, at_once))

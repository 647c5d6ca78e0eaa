# SPDX-License-Identifier: Apache-2.0
"""The program of a nest: a list of instructions in an order in which they can run one by one.

With double buffering, an operand that comes tile by tile has two places, which tiles use in turn. Results are stored
after the loads of the next tile. So transfers of a buffer do not wait for the operation between them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from eyrie.compiler.buffers.nests import CHANNELS, Nest, Region, Tile
from eyrie.compiler.buffers.partition import Partition, Partitioner, aligned
from eyrie.compiler.ir.buffer_tree import BufferTree, Memory, Role


@dataclass(frozen=True)
class Place:
    """Bytes of a buffer for tiles of an operand."""

    memory: str
    role: Role
    address: int
    bytes: int


@dataclass(frozen=True)
class Allocate:
    """Assign a place to a region. Its bytes have no values yet."""

    place: Place
    region: Region


@dataclass(frozen=True)
class Load:
    """Load a region from the place of a tile around it, None for DRAM."""

    place: Place
    region: Region
    source: Place | None


@dataclass(frozen=True)
class Store:
    """Store a region to the place of a tile around it, None for DRAM."""

    place: Place
    region: Region
    target: Place | None


@dataclass(frozen=True)
class Compute:
    """Compute a tile from operands in these places. Sums begin with the first channels; the last ones make the
    output."""

    tile: Tile
    places: dict[Role, Place]


Instruction = Allocate | Load | Store | Compute


@dataclass(frozen=True)
class Program:
    nest: Nest
    tree: BufferTree
    partition: Partition
    instructions: list[Instruction]


def program_of(nest: Nest, tree: BufferTree, doubled: bool) -> Program:
    """Return the program of the greedy partition. Raise DoesNotFit if no tile fits."""
    partitioner = Partitioner(nest, tree, doubled)
    return _Writer(nest, tree, partitioner, partitioner.greedy()).program()


@dataclass
class _Resident:
    """The places of an operand at a level, and the region that is in the latest one."""

    places: list[Place]
    turn: int = 0
    region: Region | None = None

    @property
    def place(self) -> Place:
        return self.places[self.turn]

    def next(self, region: Region) -> Place:
        self.turn, self.region = (self.turn + 1) % len(self.places), region
        return self.place


@dataclass
class _Writer:
    nest: Nest
    tree: BufferTree
    partitioner: Partitioner
    partition: Partition
    found: list[Instruction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._residents: dict[tuple[int, Role], _Resident] = {}
        for memory in self.tree.memories:
            self._lay_out(memory)
        self._unfinished = False  # whether the sums of the latest operation are of some channels only

    def program(self) -> Program:
        self._level(1, self.nest.tile)
        return Program(self.nest, self.tree, self.partition, self.found)

    def _lay_out(self, memory: Memory) -> None:
        depth, address = self.tree.depth(memory), 0
        for role in (role for role in memory.holds if role in self.nest.operands):
            size = aligned(self.nest.largest(role, self.partition.tiles[depth - 1]), memory)
            count = self.partitioner.places(role, depth, self.partition.tiles)
            places = [Place(memory.name, role, address + n * size, size) for n in range(count)]
            self._residents[depth, role] = _Resident(places)
            address += count * size

    def _level(self, depth: int, tile: Tile) -> None:
        """Add the instructions of a tile of the level around, by tiles of this level."""
        if depth > self.tree.levels:
            self._compute(tile)
            return
        stores: list[Instruction] = []
        for part in self._parts(depth, tile):
            for at, role in self._residents:
                if at == depth:
                    self._bring(depth, role, part)
            self.found += stores
            self._level(depth + 1, part)
            stores = self._stores(depth, part)
            if not self.partition.doubled:
                self.found += stores
                stores = []
        self.found += stores

    def _parts(self, depth: int, tile: Tile) -> Iterator[Tile]:
        sizes, order = self.partition.tiles[depth - 1], self.partition.orders[depth - 1]
        ranges = [
            [(first, min(first + size, last)) for first in range(start, last, size)]
            for (start, last), size in zip(tile, sizes)
        ]
        for found in product(*(ranges[loop] for loop in order)):
            rows, columns, filters, channels = (found[order.index(loop)] for loop in range(len(order)))
            yield rows, columns, filters, channels

    def _bring(self, depth: int, role: Role, tile: Tile) -> None:
        """Load the operand's region of a tile into its place, if it is not there yet."""
        resident, region = self._residents[depth, role], self.nest.region(role, tile)
        if region == resident.region:
            return
        if role is Role.SUMS:
            self._spill(depth)
        place = resident.next(region)
        if role is Role.OUTPUT or (role is Role.SUMS and tile[CHANNELS][0] == 0):
            self.found.append(Allocate(place, region))
        else:
            self.found.append(Load(place, region, self._around(depth, role)))

    def _spill(self, depth: int) -> None:
        """Store unfinished sums to the buffer around, the innermost first."""
        for at in range(self.tree.levels, depth - 1, -1):
            resident = self._residents.get((at, Role.SUMS))
            if resident and resident.region and self._unfinished:
                self.found.append(Store(resident.place, resident.region, self._around(at, Role.SUMS)))
                resident.region = None

    def _stores(self, depth: int, tile: Tile) -> list[Instruction]:
        """Return the stores that follow a tile."""
        resident = self._residents.get((depth, Role.OUTPUT))
        if resident is None or resident.region is None or tile[CHANNELS][1] < self.nest.sizes[CHANNELS]:
            return []
        return [Store(resident.place, resident.region, self._around(depth, Role.OUTPUT))]

    def _around(self, depth: int, role: Role) -> Place | None:
        resident = self._residents.get((depth - 1, role))
        return resident.place if resident else None

    def _compute(self, tile: Tile) -> None:
        innermost = {}
        for (_, role), resident in sorted(self._residents.items(), key=lambda item: item[0][0]):
            innermost[role] = resident.place
        self.found.append(Compute(tile, innermost))
        self._unfinished = tile[CHANNELS][1] < self.nest.sizes[CHANNELS]

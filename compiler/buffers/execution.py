# SPDX-License-Identifier: Apache-2.0
"""The executor: runs a program on memories of the described sizes and checks each step.

An allocation must lie within its buffer. Each byte that is read must have been written for this region. Sums must
include all earlier channels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from eyrie.compiler.buffers.nests import CHANNELS, Region
from eyrie.compiler.buffers.program import Allocate, Compute, Load, Place, Program, Store
from eyrie.compiler.ir.buffer_tree import DRAM, BufferTree, Memory, Role
from eyrie.compiler.ir.failure import InternalError
from eyrie.model.errors import InputError

NOBODY = -1
MOST_BYTES = 1 << 28  # of a buffer: a run has 17 bytes for each


@dataclass(eq=False)
class _Buffer:
    """The bytes of a buffer.

    owners: for each byte, the allocation that wrote it; channels: for each byte of sums, how many channels they include
    """

    memory: Memory
    data: np.ndarray = field(init=False)
    owners: np.ndarray = field(init=False)
    channels: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        if self.memory.bytes > MOST_BYTES:
            said = f"buffer {self.memory.name} has {self.memory.bytes} bytes, a run takes {MOST_BYTES} at most"
            raise InputError(f"{said}: describe a smaller one")
        self.data = np.zeros(self.memory.bytes, np.uint8)
        self.owners = np.full(self.memory.bytes, NOBODY)
        self.channels = np.zeros(self.memory.bytes, int)


@dataclass(frozen=True)
class _Allocation:
    number: int
    region: Region


@dataclass(frozen=True)
class _View:
    """The values of a region in a buffer, with owners and channels of their bytes. number: of the allocation"""

    values: np.ndarray
    owners: np.ndarray
    channels: np.ndarray
    number: int


def execute(program: Program, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Execute a program, and return the node's output, int8. values: of its inputs that are not constants, by name

    Raise InternalError if the program is wrong.
    """
    return _Execution(program, values).output()


class _Execution:
    def __init__(self, program: Program, values: Mapping[str, np.ndarray]) -> None:
        self._program, self._nest, self._tree = program, program.nest, program.tree
        self._dram = self._nest.arrays(values)
        self._output = np.zeros(self._nest.operands[Role.OUTPUT].shape, np.int8)
        self._stored = np.zeros(self._output.shape, bool)
        self._buffers = {memory.name: _Buffer(memory) for memory in self._tree.memories}
        self._allocations: dict[Place, _Allocation] = {}
        self._count = 0

    def output(self) -> np.ndarray:
        for instruction in self._program.instructions:
            if isinstance(instruction, Allocate):
                self._allocate(instruction)
            elif isinstance(instruction, Load):
                self._load(instruction)
            elif isinstance(instruction, Store):
                self._store(instruction)
            else:
                self._compute(instruction)
        if not self._stored.all():
            raise self._wrong("some of the output is never stored")
        return self._output.reshape(self._nest.node.outputs[0].shape)

    def _allocate(self, instruction: Allocate | Load) -> None:
        place, region = instruction.place, instruction.region
        memory = self._buffers[place.memory].memory
        size = prod(last - first for first, last in region) * self._nest.operands[place.role].dtype.itemsize
        if place.role not in memory.holds:
            raise self._wrong(f"buffer {memory.name} does not hold {place.role.value}")
        if size > place.bytes or place.address < 0 or place.address + place.bytes > memory.bytes:
            what = f"{size} bytes of {place.role.value} in a place of {place.bytes} bytes"
            raise self._wrong(
                f"{what} at {place.address} leave buffer {memory.name} of {memory.bytes}"
                if size <= place.bytes
                else f"{what} of buffer {memory.name}"
            )
        if place.address % memory.alignment:
            raise self._wrong(
                f"{place.role.value} at {place.address} of buffer {memory.name}, of which addresses are "
                f"multiples of {memory.alignment}"
            )
        self._allocations[place] = _Allocation(self._count, region)
        self._count += 1

    def _load(self, load: Load) -> None:
        self._check_neighbours(load.place, load.source)
        channels: np.ndarray | int
        if load.source is None:
            if load.place.role not in self._dram:
                raise self._wrong(f"{load.place.role.value} is not in DRAM")
            values, channels = self._dram[load.place.role][_slices(load.region)], 0
        else:
            values, channels = self._read(load.source, load.region)
        self._allocate(load)
        self._write(load.place, load.region, values, channels)

    def _store(self, store: Store) -> None:
        self._check_neighbours(store.place, store.target)
        values, channels = self._read(store.place, store.region)
        if store.target is not None:
            self._write(store.target, store.region, values, channels)
        elif store.place.role is not Role.OUTPUT:
            raise self._wrong(f"{store.place.role.value} has no place in DRAM")
        else:
            self._output[_slices(store.region)] = values
            self._stored[_slices(store.region)] = True

    def _compute(self, compute: Compute) -> None:
        nest, tile = self._nest, compute.tile
        for role, place in compute.places.items():
            if place.role is not role or place.memory != _innermost(self._tree, role):
                raise self._wrong(
                    f"a unit takes {role.value} of buffer {_innermost(self._tree, role)}, not of {place.memory}"
                )
        taken: dict[Role, np.ndarray] = {
            role: self._read(place, nest.region(role, tile))[0]
            for role, place in compute.places.items()
            if role not in (Role.SUMS, Role.OUTPUT)
        }
        if Role.SUMS in nest.operands:
            taken[Role.SUMS] = self._summed(compute, nest.sums(tile, taken))
        if tile[CHANNELS][1] == nest.sizes[CHANNELS]:
            self._write(compute.places[Role.OUTPUT], nest.region(Role.OUTPUT, tile), nest.result(tile, taken), 0)

    def _summed(self, compute: Compute, sums: np.ndarray) -> np.ndarray:
        """Return the sums plus the sums of earlier channels, and write them to their buffer, if a buffer holds sums."""
        region, place = self._nest.region(Role.SUMS, compute.tile), compute.places.get(Role.SUMS)
        first, last = compute.tile[CHANNELS]
        if place is None:
            if (first, last) != (0, self._nest.sizes[CHANNELS]):
                raise self._wrong(f"no buffer holds sums of channels {first} to {last - 1}")
            return sums
        if first:
            before, channels = self._read(place, region)
            if (channels != first).any():
                raise self._wrong(
                    f"sums {_text(region)} in buffer {place.memory} do not include exactly {first} channels"
                )
            sums = sums + before
        self._write(place, region, sums, last)
        return sums

    def _check_neighbours(self, place: Place, around: Place | None) -> None:
        memory = self._buffers[place.memory].memory
        if memory.source != (around.memory if around else DRAM) or (around and around.role is not place.role):
            raise self._wrong(
                f"{place.role.value} of buffer {place.memory} goes no other way than through {memory.source or 'DRAM'}"
            )

    def _view(self, place: Place, region: Region) -> _View:
        """Return the view of a region that is in a place. Raise InternalError if it is not."""
        allocation, operand = self._allocations.get(place), self._nest.operands[place.role]
        if allocation is None or any(
            first < low or last > high for (first, last), (low, high) in zip(region, allocation.region)
        ):
            raise self._wrong(
                f"{place.role.value} {_text(region)} is not in buffer {place.memory}, which has "
                f"{_text(allocation.region) if allocation else 'none'}"
            )
        shape = tuple(last - first for first, last in allocation.region)
        buffer, size = self._buffers[place.memory], prod(shape) * operand.dtype.itemsize
        here = slice(place.address, place.address + size)
        inside = _slices(tuple((first - low, last - low) for (first, last), (low, _) in zip(region, allocation.region)))
        owners, channels = (
            each[here].reshape(*shape, operand.dtype.itemsize)[inside] for each in (buffer.owners, buffer.channels)
        )
        return _View(buffer.data[here].view(operand.dtype).reshape(shape)[inside], owners, channels, allocation.number)

    def _read(self, place: Place, region: Region) -> tuple[np.ndarray, np.ndarray]:
        """Return values and channel counts of a region."""
        view = self._view(place, region)
        if not (view.owners == view.number).all():
            raise self._wrong(
                f"{place.role.value} {_text(region)} is read in buffer {place.memory} before all of it "
                "is there, or when something else has taken its bytes"
            )
        return view.values.copy(), view.channels.copy()

    def _write(self, place: Place, region: Region, values: np.ndarray, channels: np.ndarray | int) -> None:
        view = self._view(place, region)
        view.values[...] = values
        view.owners[...] = view.number
        view.channels[...] = channels

    def _wrong(self, what: str) -> InternalError:
        return InternalError(f"{self._nest.node.place} on {self._tree.name}: {what}")


def _innermost(tree: BufferTree, role: Role) -> str | None:
    path = tree.path(role)
    return path[-1].name if path else None


def _slices(region: Region) -> tuple[slice, ...]:
    return tuple(slice(*each) for each in region)


def _text(region: Region) -> str:
    return "[" + ", ".join(f"{first}:{last}" for first, last in region) + "]"

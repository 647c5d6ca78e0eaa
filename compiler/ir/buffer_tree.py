# SPDX-License-Identifier: Apache-2.0
"""An accelerator described by its memory hierarchy: which buffer holds which operands, its source, and the units that
compute.

Source: registered buffers, section 5.2.4.3 of the dissertation that docs/howto/buffers.md names; sizes of an operation
are from its table 5.3.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

DRAM = ""  # the source of the outermost buffers


class Role(Enum):
    """The role of an operand in an operation.

    Sums are int32, and never in DRAM. A row of a table is bias, multiplier and shift of a filter, int32 each.
    """

    INPUT = "input"
    OTHER = "other input"
    FILTERS = "filters"
    TABLE = "table"
    SUMS = "sums"
    OUTPUT = "output"


class Work(Enum):
    """The work of a unit; compiler/buffers/nests.py has the operators of each."""

    CONVOLUTION = "convolution"
    DEPTHWISE = "depthwise"
    POOL = "pool"
    ELEMENTWISE = "elementwise"


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A buffer.

    bytes      its size
    holds      the operands that may lie there
    source     the buffer that it is loaded from and stored to, "" for DRAM
    width      bytes in a cycle between the two
    latency    cycles before the first byte of a transfer
    alignment  its addresses are multiples of so many bytes
    """

    name: str
    bytes: int
    holds: tuple[Role, ...]
    source: str = DRAM
    width: int = 8
    latency: int = 0
    alignment: int = 1

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a buffer needs a name")
        for name, least in (("bytes", 1), ("width", 1), ("latency", 0), ("alignment", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} of buffer {self.name} is {getattr(self, name)}: give {least} or more")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit that computes. In a cycle, it processes one tap of `rows`, `columns` and `filters` of the output and
    `channels` of the input. latency: cycles before an operation"""

    works: tuple[Work, ...]
    rows: int = 1
    columns: int = 1
    filters: int = 1
    channels: int = 1
    latency: int = 0

    def __post_init__(self) -> None:
        if min(self.sizes) < 1 or self.latency < 0:
            raise InputError("rows, columns, filters and channels of a unit are 1 or more, its latency 0 or more")

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        return self.rows, self.columns, self.filters, self.channels


@dataclass(frozen=True, kw_only=True)
class BufferTree:
    """An accelerator.

    Each operand except the sums comes from DRAM through the buffers that hold it, one after another. Units read it from
    the last one, and results go back the same way. Raise InputError if the buffers do not form such a path.
    """

    name: str
    memories: tuple[Memory, ...]
    units: tuple[Unit, ...]

    def __post_init__(self) -> None:
        names = [memory.name for memory in self.memories]
        for memory in self.memories:
            if names.count(memory.name) > 1:
                raise InputError(f"two buffers are named {memory.name}: give each a name of its own")
            if memory.source != DRAM and memory.source not in names:
                raise InputError(f"source of {memory.name}: {unknown('buffer', memory.source, names)}")
        for memory in self.memories:
            self._check_source(memory)
        works = [work for unit in self.units for work in unit.works]
        for work in works:
            if works.count(work) > 1:
                raise InputError(f"two units do {work.value}: leave it to one")
        for role in Role:
            self._check_path(role)

    def _check_source(self, memory: Memory) -> None:
        seen = set()
        while memory.source != DRAM:
            if memory.name in seen:
                raise InputError(f"buffer {memory.name} is a source of itself: let one come from DRAM, source=''")
            seen.add(memory.name)
            memory = self.memory(memory.source)

    def _check_path(self, role: Role) -> None:
        path = self.path(role)
        if not path and role is not Role.SUMS:
            raise InputError(f"no buffer holds {role.value}: let one have Role.{role.name}")
        sources = [memory.name for memory in path]
        first = path[0].source if path and role is Role.SUMS else DRAM
        for memory, source in zip(path, [first, *sources]):
            if memory.source != source:
                above = source or "DRAM"
                raise InputError(
                    f"buffer {memory.name} has its {role.value} from {above}, its source is "
                    f"{memory.source or 'DRAM'}: connect the buffers that hold it in one chain"
                )

    def memory(self, name: str) -> Memory:
        return next(memory for memory in self.memories if memory.name == name)

    def depth(self, memory: Memory) -> int:
        """Return the level of a buffer: 1 if it is loaded from DRAM."""
        return 1 if memory.source == DRAM else 1 + self.depth(self.memory(memory.source))

    @cached_property
    def levels(self) -> int:
        """Return the number of levels of buffers."""
        return max(map(self.depth, self.memories))

    def path(self, role: Role) -> list[Memory]:
        """Return the buffers that hold an operand, from DRAM on."""
        return sorted((memory for memory in self.memories if role in memory.holds), key=self.depth)

    def does(self, work: Work) -> bool:
        return any(work in unit.works for unit in self.units)

    def unit(self, work: Work) -> Unit:
        """Return the unit that does this work, which must exist."""
        return next(unit for unit in self.units if work in unit.works)

# SPDX-License-Identifier: Apache-2.0
"""The constants of each group: depthwise words, tables and filters, where they lie and how they come."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, groupby

import numpy as np

from eyrie.compiler.ir.buffer import Buffer, Region, whole
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Separable
from eyrie.compiler.ir.plan import Job, Plan, Segment
from eyrie.compiler.plan.arrival import Piece
from eyrie.compiler.plan.eviction import EvictingSpace
from eyrie.compiler.plan.filters import PLACES, Packed, in_turn
from eyrie.compiler.plan.mappings import stays
from eyrie.compiler.plan.placement import Space
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.mapping import Mapping, Packing
from eyrie.compiler.target.times import port_words, ready
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.encoding import PARAMETER_WORDS, depthwise_group_words

MOST_CHUNK_WORDS = 256
LOAD_WORDS = 2  # of a load's command
LEAST_CHUNKS = 8  # so that the first pass can begin early


@dataclass(frozen=True)
class Chunks:
    """Filters that come in chunks of `words`, each waited for by the first pass that reads it. With fewer slots than
    chunks they pass through a ring. slices: passes that share them, each with chunks of its own; rounds: passes to each
    of which all of them come."""

    packed: np.ndarray
    buffer: Buffer
    words: int
    slots: int
    slices: int = 1
    rounds: int = 1

    @property
    def different(self) -> int:
        return self.packed.size // self.words

    @property
    def count(self) -> int:
        """Of all that come."""
        return self.different * self.rounds

    @property
    def passes(self) -> int:
        """That have chunks of their own."""
        return self.slices * self.rounds

    @property
    def region(self) -> Region:
        return [(self.buffer.placed, self.slots * self.words)]

    def address(self, n: int) -> int:
        """Of chunk n of all that come."""
        return self.buffer.placed + (self.buffer.start + n) % self.slots * self.words

    def pieces(self, space: Space, jobs: list[int], config: AcceleratorConfig) -> list[Piece]:
        """As they are loaded, their commands through the port, too; jobs: of the group. In a ring a chunk is asked for
        when another has been used, so that the port waits for the DRAM if there are few slots."""
        free, words_of, start = space.free_from(self.buffer, self.words), self.words + LOAD_WORDS, self.buffer.start
        if self.slots < self.count:
            round_trip = self.words + int(ready(config) * port_words(config))
            words_of = max(words_of, round_trip // max(self.slots - 1, 1))
        each = self.count // self.passes
        needs = (jobs[n // each] for n in range(self.count))
        pieces = [
            Piece(job, latest, words_of * len(list(alike)), self.words)
            for (job, latest), alike in groupby(zip(needs, accumulate(free[start:] + free[:start], max)))
        ]
        for turn in range(self.slots // each, self.passes):
            words = (each - max(self.slots - turn * each, 0)) * words_of
            if words:
                pieces.append(Piece(jobs[turn], 0.0, words, self.words, again=True))
        return pieces


@dataclass(frozen=True)
class InTurn:
    """Constants of which each job reads a slice, which comes for it alone, into one of PLACES places in turn.

    words: uint64 [slices, words of each, an even number of them]; jobs: of the group, one behind the other for each
    slice, as often as there are row tiles"""

    name: str
    words: np.ndarray
    address: int
    jobs: int

    def region(self, turn: int) -> Region:
        """What the turn-th job reads."""
        words = self.words.shape[1]
        return [(self.address + turn % PLACES * words, words)]


@dataclass
class WorkConstants:
    """Constants of a group, placed, and the mappings of its jobs, by rows.

    resident: what a pass reads that was loaded as a whole; chunks: filters that come in chunks; table, depthwise: where
    slices of these come in turn. loads: the name, the words and the address of what is loaded as a whole, in the order
    in which it is needed. rest: to do once the addresses are final.
    """

    group: Group
    part: Group  # of which a job is: the group, or a slice of it
    mappings: dict[int, Mapping] = field(default_factory=dict)
    filters: Filters | None = None
    depthwise_address: int | None = None
    operation_address: int | None = None
    chunks: Chunks | None = None
    table: InTurn | None = None
    depthwise: InTurn | None = None
    resident: Region = field(default_factory=list)
    loads: list[tuple[str, np.ndarray, int]] = field(default_factory=list)
    rest: list[Callable[[], None]] = field(default_factory=list)

    def complete(self) -> None:
        """Take the addresses of all buffers, which do not move any more."""
        for each in self.rest:
            each()
        self.rest.clear()

    @property
    def filters_at(self) -> str:
        if self.chunks and self.chunks.slots < self.chunks.count:
            return f"in a ring of {self.chunks.slots} x {self.chunks.words * GLB_WORD_BYTES} bytes"
        return "resident"

    def filters_of(self, job: Job, turn: int) -> Filters | None:
        """As a job of the group, the turn-th, sees its filters: only the first waits for chunks, unless each has its
        own."""
        if self.filters is None or turn == 0:
            return self.filters
        if self.chunks is None or self.chunks.passes == 1:
            return replace(self.filters, chunk_groups=None)
        address = self.chunks.address(turn * self.chunks.count // self.chunks.passes)
        if self.table:
            [(table, _)] = self.table.region(turn)
        else:
            table = self.filters.table_address + job.part * self.filters.tiles * self.filters.blocks * PARAMETER_WORDS
        return replace(self.filters, address=address, table_address=table)

    def depthwise_of(self, job: Job, turn: int, groups: int) -> int | None:
        """The address of the depthwise words of a job, the turn-th of the group; groups: of its channels."""
        if self.depthwise:
            return self.depthwise.region(turn)[0][0]
        if isinstance(self.group, Depthwise) and self.part is not self.group:
            assert self.depthwise_address is not None
            return self.depthwise_address + job.part * groups * depthwise_group_words(self.group.window.dense)
        return self.depthwise_address

    @property
    def in_turn(self) -> list[InTurn]:
        return [each for each in (self.depthwise, self.table) if each]

    def read(self, turn: int) -> Region:
        """What the turn-th job reads of all that does not come in chunks."""
        return [*self.resident, *(words for each in self.in_turn for words in each.region(turn))]

    def add(self, name: str, words: np.ndarray, buffer: Buffer) -> None:
        words = words.ravel()
        if words.size % 2:
            words = np.append(words, np.uint64(0))  # whole beats of a port of two words
        self.loads.append((f"{self.group.origin.layer}.{name}", words, buffer.placed))
        self.resident.append((buffer.placed, words.size))

    @property
    def packing(self) -> Packing:
        return next(iter(self.mappings.values())).packing

    def mapping(self, plan: Plan, n: int) -> Mapping:
        """Of its longest job."""
        return self.mappings[max(job.last - job.first for job in plan.jobs_of[n])]

    def cycles(self, plan: Plan, n: int) -> int:
        """Estimate of all its jobs."""
        return sum(self.mappings[job.last - job.first].cycles for job in plan.jobs_of[n])

    def blocks(self, job: Job) -> Blocks:
        return replace(self.mappings[job.last - job.first].blocks, first_row=job.first)


def place_constants(
    plan: Plan,
    packed: list[Packed],
    config: AcceleratorConfig,
    space: EvictingSpace,
    apart: np.ndarray,
    turns: set[Segment],
    streamed: dict[int, int],
) -> list[WorkConstants]:
    """Give the constants of all groups their addresses. Raise DoesNotFit; its layer is the name of a group.

    The groups follow in their order, so that each finds where the words of the ones before it fall free. Buffers may
    move while later ones are placed, so that addresses are read at the end, by `WorkConstants.complete`.

    apart     of each group, whether resident filters are placed before its other constants (`Space.place`)
    turns     segments whose slices bring their tables and depthwise words
    streamed  words that filters of a group should find free; a group leaves it if that is impossible
    """
    found = []
    for n, group in enumerate(plan.groups):
        segment = plan.segment_of[n]
        constants = WorkConstants(group, packed[n].part)
        found.append(constants)
        slices = segment.parts_of(n) if segment in turns else 1
        beside = list(_beside_filters(plan, n, packed[n], slices))
        buffers, filters = [each.buffer for each in beside], None
        if isinstance(group, Filtered) and not segment.nest.streams_filters(n - segment.first):
            filters = _resident(plan, n, constants, packed[n], config)
            buffers = [filters[0], *buffers] if apart[n] else [*buffers, filters[0]]
        for buffer in buffers:
            space.place(buffer, apart=apart[n])
        constants.rest += [partial(each.give, constants, len(plan.jobs_of[n])) for each in beside]
        if filters:
            constants.rest.append(partial(_add_resident, constants, *filters))
        elif isinstance(group, Filtered):
            if n in streamed and not space.make_room(streamed[n], *plan.spans[n]):
                del streamed[n]
            constants.rest.append(_place_streamed(plan, n, constants, packed[n], config, space))
        else:
            constants.mappings = packed[n].first
    return found


@dataclass(frozen=True)
class _Beside:
    """Constants of a group beside its filters, and their buffer; slices: that come in turn, 1 where all stay."""

    name: str
    words: np.ndarray
    buffer: Buffer
    slices: int

    def give(self, constants: WorkConstants, jobs: int) -> None:
        """To the group, once the buffer is placed."""
        address, in_turn, group = self.buffer.placed, None, constants.group
        if self.slices > 1:
            each = self.words.reshape(self.slices, -1)
            padded = np.pad(each, ((0, 0), (0, each.shape[1] % 2)))  # whole beats of a port of two words
            in_turn = InTurn(f"{constants.group.origin.layer}.{self.name}", padded, address, jobs)
        else:
            constants.add(self.name, self.words, self.buffer)
        if self.name == "depthwise":
            constants.depthwise_address, constants.depthwise = address, in_turn
        elif self.name == "operation":
            constants.operation_address = address
        else:
            assert isinstance(group, Filtered)
            last = (len(group.filters) - 1) % 8 + 1
            constants.filters, constants.table = Filters(0, 0, 0, address, last_channels=last), in_turn


def _beside_filters(plan: Plan, n: int, packed: Packed, slices: int) -> Iterator[_Beside]:
    """In the order in which they are needed; slices: of which tables, and words of depthwise groups, come in turn."""
    group = plan.groups[n]

    def beside(name: str, what: str, words: np.ndarray, slices: int = 1) -> _Beside:
        size = in_turn(words.size, slices)
        return _Beside(name, words, whole(group.name, what, size, *plan.spans[n], loaded=True), slices)

    if isinstance(group, (Depthwise, Separable)):
        yield beside("depthwise", "depthwise filters", packed.depthwise, slices if isinstance(group, Depthwise) else 1)
    for operation in group.operations:
        if operation.constants is not None:
            yield beside("operation", "constants of its operation", operation.constants)
    if isinstance(group, Filtered):
        yield beside("table", "quantisation parameters", packed.table, slices)


def _resident(
    plan: Plan, n: int, constants: WorkConstants, words: Packed, config: AcceleratorConfig
) -> tuple[Buffer, np.ndarray]:
    """The buffer of filters that stay for all jobs of the group, and the filters, packed as suits the jobs best."""
    group = plan.groups[n]
    if not words.stay:
        raise DoesNotFit(
            f"{group.name}: no tile of filters suits row tiles of {sorted(set(words.rows))} rows", layer=group.name
        )
    constants.mappings = words.stay
    first = words.stay[words.rows[0]]
    packed = words.filters(first.packing)
    buffer = whole(group.name, "filters", packed.size, *plan.spans[n], loaded=True)
    if not stays(first) and first.blocks.inner == 1:
        buffer.chunk = _chunk_groups(packed, config)[0] * packed[0, 0].size
        constants.chunks = Chunks(packed, buffer, buffer.chunk, packed.size // buffer.chunk)
    return buffer, packed


def _add_resident(constants: WorkConstants, buffer: Buffer, packed: np.ndarray) -> None:
    """Filters that have their place: they come as a whole, or in chunks."""
    assert constants.filters
    tile, chunk_groups = constants.packing.tile, None
    if buffer.chunk:
        chunk_groups = buffer.chunk // packed[0, 0].size
    else:
        constants.add("filters", packed, buffer)
    constants.filters = replace(
        constants.filters, address=buffer.placed, count=tile, tiles=len(packed), chunk_groups=chunk_groups
    )


def _place_streamed(
    plan: Plan, n: int, constants: WorkConstants, words: Packed, config: AcceleratorConfig, space: EvictingSpace
) -> Callable[[], None]:
    """Filters of a group that is one job, or one for each slice of them or for each row tile: in chunks where each is
    used by one block of pixels or by inner blocks in turn, else resident; the mappings are the cheapest for which there
    is room."""
    group, (birth, death), segment = plan.groups[n], plan.spans[n], plan.segment_of[n]
    free = space.largest_free(birth, death)
    jobs = plan.jobs_of[n]
    for found, least in words.come:
        mapping, *_ = found.values()
        if n in plan.first_tile and (mapping.blocks.outer > 1 or mapping.tile > plan.first_tile[n]):
            continue
        if least > free or (stays(mapping) and segment.parts_of(n) > 1):
            continue
        packed = words.filters(mapping.packing)
        constants.mappings = found
        if stays(mapping):
            buffer = whole(group.name, "filters", packed.size, birth, death, loaded=True)
            space.place(buffer)
            return partial(_add_resident, constants, buffer, packed)
        again = any(each.blocks.inner > 1 for each in found.values())
        for chunk_groups in _chunk_groups(packed, config):
            chunk = chunk_groups * packed[0, 0].size
            count = packed.size // chunk
            # Inner blocks use the chunks of a tile again: those are freed in the last of them only.
            kept = packed.shape[1] // chunk_groups if again else 0
            slots = min(free // chunk, count)
            if slots >= min(max(kept + 1, 2), count):
                break
        else:
            continue
        buffer = whole(group.name, "filters", slots * chunk, birth, death, loaded=True)
        parts = segment.parts_of(n)
        rounds = len(jobs) // parts if slots < count or parts > 1 else 1
        buffer.chunk = chunk
        buffer.passing = count if len(jobs) == 1 else 0
        buffer.rotates = slots < count * rounds
        space.place(buffer)
        constants.chunks = Chunks(packed, buffer, chunk, slots, parts, rounds)
        return partial(_add_streamed, constants, chunk_groups)
    bytes_ = free * GLB_WORD_BYTES
    raise DoesNotFit(
        f"{group.name}: no tile of its filters fits the {bytes_} bytes of GLB that are free",
        layer=group.name,
        bound=bytes_,
    )


def _add_streamed(constants: WorkConstants, chunk_groups: int) -> None:
    """Filters that come in chunks have their place."""
    chunks = constants.chunks
    assert chunks and constants.filters
    words = chunks.slots * chunks.words
    ring = (chunks.buffer.placed + words, words) if chunks.slots < chunks.count else None
    constants.filters = replace(
        constants.filters,
        address=chunks.address(0),
        count=constants.packing.tile,
        tiles=len(chunks.packed) // chunks.slices,
        ring=ring,
        chunk_groups=chunk_groups,
    )


def _chunk_groups(packed: np.ndarray, config: AcceleratorConfig) -> list[int]:
    """Channel groups that a chunk of packed filters can have, most first."""
    groups, words = packed.shape[1], packed[0, 0].size
    most = min(MOST_CHUNK_WORDS, packed.size // LEAST_CHUNKS)
    return [c for c in range(groups, 0, -1) if groups % c == 0 and (c == 1 or c * words <= most)]

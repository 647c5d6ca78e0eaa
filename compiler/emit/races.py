# SPDX-License-Identifier: Apache-2.0
"""Races: accesses to the same GLB words that no token and no order of the accelerator's queues keep apart.

The accelerator keeps the order of a command list only where its tokens and queues say so. What is sure to be
over before an event is its clock: of every kind of access, how many. All accesses of a kind end in one order,
so that an event's clock is the largest of those of the events that it waits for (docs/concepts/synchronisation.md).

DRAM needs no tokens: only transfers touch it, and a transfer in the other direction waits for all before it.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from eyrie.compiler.emit.accesses import StreamWords, read_too_late, transfer_words
from eyrie.compiler.ir.failure import InternalError
from eyrie.compiler.ir.program import Command, Config, Run, Transfer
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import Stream
from eyrie.model.messages import number_of


class Kind(IntEnum):
    """Of accesses; those of a kind end one after the other. The first ones are the streams of passes."""

    IFMAP = Stream.IFMAP
    FILTER = Stream.FILTER
    DEPTHWISE = Stream.DEPTHWISE
    PARAMETERS = Stream.PARAMETERS
    IPSUM = Stream.IPSUM
    OFMAP = Stream.OFMAP
    RESIDUAL = Stream.RESIDUAL
    CHUNK = 7  # of filters, from the wait for it to the end of its last use
    LOAD = 8
    STORE = 9


_TRANSFERS = np.array([Kind.LOAD, Kind.STORE])
_WRITERS = (Kind.OFMAP, Kind.LOAD)
_READS = [stream for stream in Stream if stream != Stream.OFMAP]

Clock = np.ndarray  # int64 by Kind: accesses that are over
Words = np.ndarray  # addresses of GLB words, rising


@dataclass(frozen=True)
class Access:
    """What a command does with GLB words. command: its place in the list, from 0."""

    command: int
    kind: Kind

    def __str__(self) -> str:
        what = self.kind.name.lower()
        return f"command {self.command} ({what if self.kind >= Kind.LOAD else f'pass, {what}'})"


@dataclass(frozen=True)
class Race:
    """Two accesses in no order, of which one writes; `count` GLB words that they share, the first of them."""

    first: Access
    second: Access
    address: int
    count: int

    def __str__(self) -> str:
        return f"{self.first} and {self.second}: {self.count} GLB words from {self.address} on, in no order"


class ScheduleError(InternalError):
    """A command list that the compiler must not make; its message names the commands, `command` is one of them."""

    def __init__(self, what: str, command: int) -> None:
        super().__init__(what)
        self.command = command


def verify(commands: list[Command], config: AcceleratorConfig) -> None:
    """Raises ScheduleError for the first race, and for a list that `find_races` rejects."""
    if races := find_races(commands, config):
        raise ScheduleError(f"{races[0]} ({len(races)} races)", races[0].second.command)


def find_races(commands: list[Command], config: AcceleratorConfig) -> list[Race]:
    """All pairs of accesses in no order; of those of a kind to a word the latest only.

    Raises ScheduleError where a wait is for what does not come before it, and where a word lies beyond the GLB.
    """
    walk = _Walk(config)
    for number, command in enumerate(commands):
        walk.step(number, command)
    walk.finish(len(commands))
    return walk.races


class _Walk:
    """Goes through a list in its serial order, which is one of the orders that the accelerator may take.

    A pass that has to wait for a chunk lets the transfers behind it go on.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self.races: list[Race] = []
        self._latest = np.zeros((len(Kind), config.glb_words), np.int64)  # of each kind, at each word
        self._commands: list[list[int]] = [[-1] for _ in Kind]  # of the accesses of each kind
        self._shadow = Descriptor()
        self._streams = StreamWords(config)
        self._chunks_taken = 0
        nothing = np.zeros(len(Kind), np.int64)
        self._started = nothing  # the last transfer
        self._offered = nothing  # the last pass
        self._read = [nothing] * len(Stream)  # the last pass that has this stream
        # Clocks of what tokens count, by number from 1 on.
        self._transfers, self._passes, self._loaded, self._freed = [nothing], [nothing], [nothing], [nothing]
        self._pending: Iterator[None] | None = None

    def step(self, number: int, command: Command) -> None:
        if isinstance(command, Config):
            self._shadow.words[command.index : command.index + len(command.words)] = command.words
        elif isinstance(command, Transfer):
            self._transfer(number, command)
        else:
            self.finish(number)
        if isinstance(command, Run):
            self._pending = self._pass(number, command, Descriptor(self._shadow.words))
            self._resume()

    def finish(self, number: int) -> None:
        """The pass before has to be able to end. Raises ScheduleError."""
        if self._pending is not None:
            raise ScheduleError(
                f"command {number}: the pass before it waits for chunk "
                f"{self._chunks_taken + 1}, {len(self._loaded) - 1} are loaded before it",
                number,
            )

    def _resume(self) -> None:
        if self._pending is not None and next(self._pending, self) is self:
            self._pending = None

    @staticmethod
    def _wait(number: int, what: str, clocks: list[Clock], token: int) -> Clock:
        """The clock of the event that a token names. Raises ScheduleError."""
        if token >= len(clocks):
            raise ScheduleError(
                f"command {number}: waits for {number_of(token, what)}, {len(clocks) - 1} come before it", number
            )
        return clocks[token]

    # ---- Transfers ----

    def _transfer(self, number: int, transfer: Transfer) -> None:
        """Starts in order, perhaps before those in front are done; transfers among themselves need no clock."""
        clock = _merged(
            self._started,
            self._wait(number, "pass", self._passes, transfer.wait_passes),
            self._wait(number, "freed chunk", self._freed, transfer.wait_chunks),
        )
        self._started = clock
        kind = Kind.LOAD if transfer.load else Kind.STORE
        self._access(number, kind, clock, transfer_words(transfer), len(self._transfers))
        done = _merged(clock, self._transfers[-1])
        done[_TRANSFERS] = len(self._transfers)
        for each in _TRANSFERS:
            self._commands[each].append(number)
        self._transfers.append(done)
        if transfer.chunk:
            self._loaded.append(done)
            self._resume()

    # ---- Passes ----

    def _pass(self, number: int, command: Run, descriptor: Descriptor) -> Iterator[None]:
        """A pass; yields where it has to wait for a filter chunk.

        It is offered when all units have taken the one before, and so when the last but one is over.
        """
        place = len(self._passes)
        after = self._wait(number, "pass", self._passes, command.wait_passes)
        clock = _merged(
            self._offered,
            self._passes[max(0, place - 2)],
            self._wait(number, "transfer", self._transfers, command.wait_transfers),
        )
        self._offered = clock
        for stream in Stream:
            self._commands[stream].append(number)
        # Its first word leaves behind the last sum of the pass before, and behind the first that it reads.
        writes, reads = _merged(clock, self._passes[-1]), dict[Stream, Words]()
        for stream in _READS:
            program = self._streams.program(descriptor, stream)
            if not program.options["enable"]:
                continue
            begin = _merged(clock, self._read[stream], *([after] if stream == Stream.IFMAP else []))
            writes = _merged(writes, begin)
            if program.options["chunk"] and stream == Stream.FILTER:
                begin, first = yield from self._chunks(number, program, begin)
                writes = _merged(writes, first)
            else:
                reads[stream] = self._streams.words(descriptor, stream)
                self._access(number, Kind(stream), begin, reads[stream], place)
            self._read[stream] = begin.copy()
            self._read[stream][stream] = place
        if self._streams.program(descriptor, Stream.OFMAP).options["enable"]:
            written = self._streams.words(descriptor, Stream.OFMAP)
            beside = writes.copy()
            beside[list(reads)] = place  # reads of the pass itself are looked at turn by turn
            self._access(number, Kind.OFMAP, beside, written, place)
            self._in_place(number, descriptor, written, reads)
        done = _merged(writes, *self._read)
        done[Kind.OFMAP] = place
        self._passes.append(done)

    def _chunks(
        self, number: int, program: StreamDescriptor, clock: Clock
    ) -> Generator[None, None, tuple[Clock, Clock]]:
        """The filters of a pass that waits for chunks. Returns the clocks at their end and behind those of
        the first turn."""
        level, counts = program.options["chunk_level"], [v.count for v in program.levels]
        turn, uses = counts[level], counts[level + 1]  # chunks of a tile; by inner blocks
        chunks = self._streams.chunks(program)
        taken, first = self._chunks_taken, clock
        for tile, use in ((tile, use) for tile in range(len(chunks) // turn) for use in range(uses)):
            for n in range(tile * turn, (tile + 1) * turn):
                if use == 0:
                    while self._chunks_taken == len(self._loaded) - 1:
                        yield
                    self._chunks_taken += 1
                    clock = _merged(clock, self._loaded[self._chunks_taken])
                    self._commands[Kind.CHUNK].append(number)
                    self._access(number, Kind.CHUNK, clock, chunks[n], taken + n + 1)
                if use == uses - 1:
                    clock = clock.copy()
                    clock[Kind.CHUNK] = taken + n + 1
                    self._freed.append(clock)
            if tile == use == 0:
                first = clock
        return clock, first

    def _in_place(self, number: int, descriptor: Descriptor, written: Words, reads: dict[Stream, Words]) -> None:
        """Words of a pass that its ofmap takes before it has read them for the last time."""
        mask = np.zeros(self.config.glb_words, bool)
        mask[written] = True
        for stream, words in reads.items():
            if mask[words].any():
                self._report(
                    Access(number, Kind(stream)),
                    Access(number, Kind.OFMAP),
                    read_too_late(descriptor, stream, self.config),
                )

    # ---- Words ----

    def _access(self, number: int, kind: Kind, clock: Clock, words: Words, place: int) -> None:
        """An access that begins at `clock`: all before it that it could disturb have to be over."""
        if len(words) and words[-1] >= self.config.glb_words:
            raise ScheduleError(f"command {number}: GLB word {words[-1]}, there are {self.config.glb_words}", number)
        others = _OTHERS[kind]
        before = self._latest[others[:, None], words]
        late = before > clock[others, None]
        if late.any():
            for other, at, found in zip(others, late, before):
                for each in np.unique(found[at]):
                    self._report(
                        Access(self._commands[other][each], Kind(other)),
                        Access(number, kind),
                        words[at & (found == each)],
                    )
        self._latest[kind, words] = place

    def _report(self, first: Access, second: Access, words: np.ndarray) -> None:
        if len(words):
            self.races.append(Race(first, second, int(words.min()), len(words)))


def _others(kind: Kind) -> np.ndarray:
    """Kinds of accesses with which one of this kind conflicts. Transfers are in order among themselves."""
    others = Kind if kind in _WRITERS else _WRITERS
    return np.array([other for other in others if kind < Kind.LOAD or other < Kind.LOAD])


_OTHERS = {kind: _others(kind) for kind in Kind}


def _merged(*clocks: Clock) -> Clock:
    """What is over when all of these events have happened."""
    return np.maximum.reduce(clocks)

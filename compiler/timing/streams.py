# SPDX-License-Identifier: Apache-2.0
"""Streams between GLB and array on the timeline: ifmap, filters, and the drain with tables and ofmap."""

from collections import deque

from compiler.timing.banks import ASK, NETWORK, READ, Banks
from compiler.timing.front import Front
from compiler.timing.shape import PassShape
from model import encoding as enc
from model.config import SET_ROWS, MachineConfig
from model.encoding import Stream

STREAM_START = 1 + ASK + READ  # read_stream: from the take of a pass to the first beat: first position, request, GLB
READ_AHEAD = 5 + 2  # DEPTH of read_stream; skid buffer of the network
SUMS_FULL = 2  # pe: from the end of the last multiplication to the psum half being full: product, addition
CHAIN = SET_ROWS + 1  # registers of a set in the sum chain: skid buffer, PEs
GATHER = 1  # gather_network
PPU_LATENCY = 5  # ppu: from a beat to its word: entry, requantizer (3), transposer
RAW_LATENCY = 2  # likewise, of raw words: entry, transposer
HALVES = 2  # beats of raw words
PIXEL = 8  # dw_finisher: cycles of a pixel, two for a channel
AVERAGE_LATENCY = 4  # average_pool
TABLES = 2  # that table_buffer holds
UNIT = 8  # beats of a block of filters and a pixel, which make a word of each column


class Ifmap:
    """The ifmap stream: beats are fetched some ahead of their sending, and sent in order: offered to the PEs."""

    def __init__(self, machine: MachineConfig, banks: Banks) -> None:
        self._banks = banks
        self.sent = -1  # cycle of the last beat
        self.pops: list[list[int]] = [[] for _ in range(SET_ROWS * machine.cols)]  # by PE: words' last cycles
        self.depth = machine.ifmap_words

    def take(self, shape: PassShape, first: int) -> None:
        """A pass whose first beat may be sent in cycle `first`."""
        self._masks, self._fetched = iter(shape.banks_ifmap), deque()
        self._granted = first - READ - NETWORK - 1
        self.sent = first - 1
        for _ in range(READ_AHEAD):
            self._fetch(0)

    def _fetch(self, at: int) -> None:
        """The next beat is fetched behind cycle `at`, when no client before the stream takes its banks."""
        mask = next(self._masks, None)
        if mask is None:
            return
        at, busy = max(self._granted, at + ASK) + 1, self._banks.busy
        if mask:
            self._banks.reach(at)
            while busy[at] & mask:
                at += 1
            self._banks.streams[at] |= mask
        self._granted = at
        self._fetched.append(at + READ + NETWORK)

    def next(self) -> int:
        """The first cycle in which the next beat can be sent, as far as the stream is concerned."""
        return max(self.sent + 1, self._fetched.popleft())

    def send(self, at: int) -> None:
        """It is sent in cycle `at`."""
        self.sent = at
        self._fetch(at)

    def send_group(self, shape: PassShape, pushed: list[int]) -> dict[int, int]:
        """Sends the beats of a group, whose words PEs use up as `pops` says.

        pushed: words that each PE has got. Returns by PE the cycle of its last word.
        """
        depth, pops = self.depth, self.pops
        arrived: dict[int, int] = {}
        for targets, words in shape.beats:
            at = self.next()
            for pe in targets:
                count = pushed[pe] = pushed[pe] + words
                if count > depth and (room := pops[pe][count - depth - 1]) >= at:
                    at = room + 1
            for pe in targets:
                arrived[pe] = at
            self.send(at)
        return arrived


class Filters:
    """The filter stream of pointwise work: words of a group in turn to the rows, a word a cycle, as far as
    the queues of the PEs reach and chunks are there. Row 0, which has most words, stands for all.
    """

    def __init__(self, front: Front, machine: MachineConfig, banks: Banks) -> None:
        self._front, self._depth, self._banks = front, machine.filter_words, banks
        self.sent = -1  # cycle of the last word
        self._used: list[int] = []  # of the words of row 0: cycle in which the PE is done with them
        self._seen: list[int] = []  # of the same: first cycle in which the PE sees them
        self._chunks = 0  # taken
        self._turn = self._filter = self._word = 0  # of the pass: next group, filter of row 0, word
        self._shape: PassShape | None = None

    def take(self, first: int, shape: PassShape) -> None:
        """A pass whose first word may be sent in cycle `first`."""
        self.sent = first - 1
        self._shape, self._turn, self._filter, self._word = shape, 0, 0, 0

    def there(self) -> int:
        """The first cycle in which the PE sees the next word that it uses."""
        while len(self._seen) <= len(self._used):
            self._next()
        return self._seen[len(self._used)]

    def use(self, end: int) -> None:
        """The PE is done with a word before cycle `end`."""
        self._used.append(end - 1)

    def catch_up(self, cycle: int) -> None:
        """Sends what is known to have room before a cycle; what needs a chunk that is not there yet stays."""
        while (self._shape and self.sent < cycle and len(self._seen) < len(self._used) + self._depth
               and self._turn < self._shape.turns
               and (not self._needs_chunk() or self._chunks < len(self._front.chunks_loaded))):
            self._next()

    def _next(self) -> None:
        """Sends the next word of row 0 and those of the other rows behind it."""
        shape, place, at = self._shape, len(self._seen) - self._depth, self.sent
        if place >= 0:
            at = max(at, self._used[place])
        if self._needs_chunk():
            self._chunks += 1
            at = max(at, self._front.chunk(self._chunks) + ASK + READ + NETWORK - 1)
        rows = sum(self._filter < filters for filters in shape.filters)
        masks = shape.banks_filter[self._word : self._word + rows]
        at = self._banks.walk(at, masks[:1], Stream.FILTER)
        self._seen.append(at + 1)
        self.sent = self._banks.walk(at, masks[1:], Stream.FILTER)
        self._word += rows
        self._filter += 1
        if self._filter == shape.filters[0]:
            self._end_group()

    def _needs_chunk(self) -> bool:
        """Whether the next word is the first of a chunk."""
        shape = self._shape
        inner, group = divmod(self._turn % (shape.inner * shape.groups), shape.groups)
        return bool(shape.chunk_groups) and self._filter == inner == 0 and group % shape.chunk_groups == 0

    def _end_group(self) -> None:
        shape = self._shape
        inner, group = divmod(self._turn % (shape.inner * shape.groups), shape.groups)
        self._turn, self._filter = self._turn + 1, 0
        if shape.chunk_groups and (group + 1) % shape.chunk_groups == 0 and inner == shape.inner - 1:
            self._front.chunks_freed.append(self.sent + 1 - NETWORK)


class Drain:
    """drain_sequencer, PPU with the table stream, and ofmap stream: tile by tile, a beat a cycle."""

    def __init__(self, banks: Banks) -> None:
        self._banks = banks
        self._ready = 0  # first cycle in which a beat can enter the array
        self.halves = (0, 0)  # first cycle in which each psum half is free, oldest first
        self.left = 0  # cycle of the last beat's departure from the array
        self.written = 0  # cycle of the last ofmap word
        self.table_sent = -1  # cycle of the last table word
        self._words = self._tables = 0  # ofmap words and tables of the pass, so far
        self._popped: list[int] = []  # cycles in which the pass's tables were used up
        self._there: deque[int] = deque()  # tables that have come or will: when they can be used
        self._out = (0, 0)  # cycles of the last words of the last two units

    def take(self, ready: int, tables: int) -> None:
        """A pass: its first beat and its first table word may come in these cycles."""
        self._ready, self._words, self._tables = ready, 0, 0
        self.table_sent = max(self.table_sent, tables - 1)
        self._there.clear()
        self._popped.clear()

    def tile(self, shape: PassShape, full: int) -> None:
        """A tile whose last multiplication ends before cycle `full`.

        The transposer holds two units: one goes in when the words of the last but one are out.
        """
        chain = CHAIN * (2 if shape.joined else 1)
        latency = chain + GATHER + PPU_LATENCY + AVERAGE_LATENCY * shape.average
        at = max(self._ready, full + SUMS_FULL)
        for unit in range(shape.tile_beats // UNIT):
            pixel = unit % shape.pixels
            if pixel == 0:
                if not self._there:
                    self._fetch_table(shape)
                at = max(at, self._there.popleft() - chain - GATHER)
            at = max(at, self._out[0] + 2 - latency) + UNIT
            if pixel == shape.pixels - 1:
                self._popped.append(at - 1 + chain + GATHER)
            count = shape.columns if not shape.average else int(pixel == shape.pixels - 1)
            self._out = self._out[1], self._write(shape, max(at - 1 + latency, self._out[1] + 1), count)
        self._ready = at
        self.left = at - 1 + chain
        self.halves = self.halves[1], self.left
        self.written = self._out[1]

    def words(self, shape: PassShape, ready: int) -> int:
        """A group of depthwise words, the last pixel's there in cycle `ready`; returns when it has left.

        A pixel's words are two beats, a half of the GLB word each.
        """
        latency, at = CHAIN + GATHER + RAW_LATENCY, self._ready
        for pixel in range(shape.pixels):
            at = max(at, ready - PIXEL * (shape.pixels - 1 - pixel))
            at = max(at, self._out[0] + 2 - latency) + HALVES
            self._out = self._out[1], self._write(shape, max(at - 1 + latency, self._out[1] + 1), shape.columns)
        self._ready = at
        self.left = at - 1 + CHAIN
        self.written = self._out[1]
        return at

    def fetch_tables(self, shape: PassShape, cycle: int) -> None:
        """Fetches the tables that are known to have room before a cycle."""
        while (self._tables < len(shape.banks_table) // enc.TABLE_WORDS
               and self._tables < len(self._popped) + TABLES and self.table_sent < cycle):
            self._fetch_table(shape)

    def _fetch_table(self, shape: PassShape) -> None:
        """The next table comes when there is room for it; notes when it can be used."""
        place = self._tables * enc.TABLE_WORDS
        at = max(self.table_sent, self._popped[self._tables - TABLES] if self._tables >= TABLES else 0)
        masks = shape.banks_table[place : place + enc.TABLE_WORDS]
        self.table_sent = self._banks.walk(at, masks, Stream.TABLE)
        self._there.append(self.table_sent + 1)
        self._tables += 1

    def _write(self, shape: PassShape, at: int, count: int) -> int:
        """Words leave from cycle `at` on; returns the cycle of the last."""
        busy = self._banks.busy
        for mask in shape.banks_ofmap[self._words : self._words + count]:
            if mask:
                self._banks.reach(at)
                while busy[at] & mask:
                    at += 1
                busy[at] |= mask
            at += 1
        self._words += count
        return at - 1

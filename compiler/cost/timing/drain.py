# SPDX-License-Identifier: Apache-2.0
"""From the array to the GLB on the timeline: drain, PPU with its tables, ofmap."""

from collections import deque
from collections.abc import Callable

from eyrie.compiler.cost.timing.banks import ASK, Banks
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.streams import NEVER, Words
from eyrie.model import encoding as enc
from eyrie.model.config import SET_ROWS
from eyrie.model.encoding import Operation, Stream

CHAIN = SET_ROWS + 1  # registers of a set in the column adder chain: skid buffer, PEs
FREED = 3  # from a tile's last beat until row 0's psum half is free: skid buffer, PE, psum_buffer
GATHER = 1  # gather_network
SUMS_FULL = 2  # pe: from the end of the last multiplication to the psum half being full: product, addition
SKIPPED = 1  # the first beat waits for that in the PE of row 0, behind the skid buffer
PPU_LATENCY = 5 + ASK  # from a beat at the PPU to its word's request: entry, requantizer (3), transposer; write_stream
RAW_LATENCY = 2 + ASK  # as well, of raw words: entry, transposer; write_stream
EMPTY = 1  # gather_network: from the last beat's departure until no beat is noted
HALVES = 2  # beats of raw words
PIXEL = 8  # dw_requantizer: cycles of a pixel, two for a channel
AVERAGE_LATENCY = 4  # average_pool
TABLES = 2  # that parameter_buffer holds


class Drain:
    """drain_sequencer, PPU with the table stream, and ofmap stream: tile by tile, a beat a cycle. The beats of a block
    of filters and a pixel, or two, are a unit, which makes a word of each column, or two.

    It is told tiles and goes on as far as it is asked, so that what takes banks before the tables is known.
    """

    TIMES = ("_ready", "_freed", "left", "written", "_out")

    def __init__(self, banks: Banks, known: Callable[[int], None], operands: Words) -> None:
        """known(cycle): makes sure that the clients before the tables are known before a cycle; operands: second
        operands of the words that leave, or a lookup table"""
        self._banks, self._operands = banks, operands
        self.tables = Words(banks, Stream.PARAMETERS, known)
        self._ready = 0  # first cycle in which a beat can enter the array
        self._tiles: deque[tuple[PassShape, tuple[int, ...]]] = deque()  # not done: the ends of their chains
        self._unit = 0  # of the first of these: units done
        self._told = 0  # tiles of all passes
        # Of the tiles two before each: by set, the first cycle in which row 0's psum half is free.
        self._freed = [(0, 0)] * 2
        self.left = 0  # cycle in which the drain sequencer finds the array empty
        self.written = 0  # cycle of the last ofmap word
        self.marks: list[int] = []  # of the pass: ends of its tiles, or of a vector pass its words
        self._words = self._come = 0  # ofmap words and words of tables of the pass, so far
        self._popped: list[int] = []  # cycles in which the pass's tables were used up
        self._there: deque[int] = deque()  # tables that have come or will: when they can be used
        self._out = (0, 0)  # cycles of the last words of the last two units
        self._lookup = 0  # words of the pass's lookup table that have not come

    def take(self, shape: PassShape, ready: int, tables: int, operands: int) -> None:
        """A pass of the array: its first beat, its first table word and its first second operand may come in these
        cycles."""
        self._ready, self._words, self._come = ready, 0, 0
        self.marks.clear()
        self.tables.take(shape.banks_table, tables)
        self._operands.take(shape.banks_residual, operands)
        self._lookup = enc.LOOKUP_WORDS if shape.operation == Operation.TABLE else 0  # words that have not come
        self._there.clear()
        self._popped.clear()

    def rest(self) -> None:
        """All tiles of the pass are drained."""
        self._freed, self._told = self._freed[self._told :], 0

    @property
    def halves(self) -> tuple[int, int]:
        """By set, the first cycle in which the PE of row 0 has a psum half for another tile; that of row r, r cycles
        later."""
        while len(self._freed) <= self._told:
            self._next_unit(NEVER)
        return self._freed[self._told]

    def tile(self, shape: PassShape, *full: int) -> None:
        """A tile whose last multiplication ends before cycle `full`, of each chain that drains by itself."""
        self._told += 1
        self.marks.append(max(full))
        self._tiles.append((shape, full))

    def run_until(self, limit: int) -> None:
        """Writes the words that come before a cycle."""
        while self._tiles and self._next_unit(limit):
            pass

    def _next_unit(self, limit: int) -> bool:
        """The next unit goes through the PPU, unless its first word comes at `limit` or later.

        The transposer holds two units: one goes in when the words of the last but one are out.
        """
        shape, full = self._tiles[0]
        pixel, chain = self._unit % shape.pairs, CHAIN * (2 if shape.joined else 1)
        latency = chain + GATHER + PPU_LATENCY + AVERAGE_LATENCY * shape.average + shape.stages
        at = max(self._ready, self._out[0] + 2 - latency)
        turn, begun = divmod(self._unit, shape.blocks * shape.pairs)
        beats = shape.last_block if begun >= (shape.blocks - 1) * shape.pairs else shape.block
        if begun == 0:
            at = max(at, full[turn] + SUMS_FULL - SKIPPED)
        if pixel == 0 and at + beats - 1 + latency < limit:
            if not self._table(limit):
                return False
            at = max(at, self._there[0] - chain - GATHER)
        if at + beats - 1 + latency >= limit:
            return False
        if pixel == 0:
            self._there.popleft()
        at = self._ready = at + beats
        if pixel == shape.pairs - 1:
            self._popped.append(at - 1 + chain + GATHER)
        count = shape.columns if not shape.average else int(pixel == shape.pairs - 1)
        self._out = self._out[1], self._write(shape, max(at - 1 + latency, self._out[1] + 1), count)
        self._unit += 1
        if self._unit == shape.chains * shape.blocks * shape.pairs:
            self._end_tile(at, chain)
        return True

    def _end_tile(self, at: int, chain: int) -> None:
        shape, _ = self._tiles.popleft()
        self._unit = 0
        self.left = at - 1 + chain + EMPTY
        free = at - 1 + FREED
        self._freed.append((free - shape.later_sets, free))
        self.written = self._out[1]

    def words(self, shape: PassShape, ready: int) -> int:
        """A group of depthwise words, the last pixel's there in cycle `ready`; returns when it has left.

        A pixel's words are two beats, a half of the GLB word each; a beat waits for them at the end of the chain.
        """
        latency, at = CHAIN + GATHER + RAW_LATENCY + shape.stages, self._ready
        for pixel in range(shape.pixels):
            at = max(at, ready - CHAIN - PIXEL * (shape.pixels - 1 - pixel))
            at = max(at, self._out[0] + 2 - latency) + HALVES
            self._out = self._out[1], self._write(shape, max(at - 1 + latency, self._out[1] + 1), shape.columns)
        self._ready = at
        self.left = at - 1 + CHAIN + EMPTY
        self.written = self._out[1]
        return at + CHAIN

    def end(self, written: int) -> None:
        """A vector pass has written its last word in a cycle."""
        self._out = written, written
        self.written = written

    def catch_up(self, cycle: int) -> None:
        """Writes words, and takes those of tables, that are known to come before a cycle."""
        self.run_until(cycle)
        while (at := self._next_word(cycle)) is not None and at < cycle:
            self._take_word(at)
        self.tables.fetch(cycle)

    def _table(self, limit: int) -> bool:
        """The next table comes, if its words do before a cycle."""
        while not self._there and (at := self._next_word(limit)) is not None and at < limit:
            self._take_word(at)
        return bool(self._there)

    def _next_word(self, limit: int) -> int | None:
        """When the next word of a table can come; None: that is not known before `limit`, or there is none."""
        table = self._come // enc.PARAMETER_WORDS
        if table >= len(self._popped) + TABLES:
            return None
        at = self.tables.next(limit)
        return at if at is None or table < TABLES else max(at, self._popped[table - TABLES] + 1)

    def _take_word(self, at: int) -> None:
        """A word comes in a cycle; with the last one of a table, this can be used from the next cycle on."""
        self.tables.send(at)
        self._come += 1
        if self._come % enc.PARAMETER_WORDS == 0:
            self._there.append(at + 1)

    def _write(self, shape: PassShape, at: int, count: int) -> int:
        """Words, or pairs of words, leave from cycle `at` on; returns the cycle of the last."""
        has_operands = shape.has_operands
        operands, before = self._operands, ASK + shape.stages  # cycles from the take of a word to its request
        for _ in range(self._lookup):
            operands.send(operands.first())
            at = max(at, operands.sent + 1 + before)
        self._lookup = 0
        for masks in shape.banks_ofmap[self._words : self._words + count]:
            for mask in masks:
                if has_operands:
                    operands.send(max(operands.first(), at - before))
                    at = max(at, operands.sent + before)
                at = self._banks.write(at, mask) + 1
        self._words += count
        return at - 1

# SPDX-License-Identifier: Apache-2.0
"""A fused pass on the timeline: depthwise group by depthwise group, pointwise work between them.

Depthwise work is followed in every PE of a set. Of the pointwise work only one PE is: in row 0, which has
most filters, and in the column that is last to get its ifmap words.
"""

from compiler.timing.shape import PassShape
from compiler.timing.streams import PIXEL
from compiler.timing.units import Begin, Units
from model import encoding as enc
from model.config import SET_ROWS
from model.encoding import Stream

TAP_GROUPS = 2  # depthwise groups whose taps a PE holds (TapWords of pe)
TABLES = 2  # groups whose tables dw_finisher holds
TABLE_USED = PIXEL - 1  # dw_finisher: from a pixel's first cycle to its last
SUMMED = 4  # pe: from a depthwise group's first multiplication to its first sum: 3 taps, product, queue
WORD_READY = 14  # from a pixel's first cycle in dw_finisher to its word in the PEs: to the last channel's second
#                  cycle (7), requantizer (4), word_buffer (2), word_sender
TAP_WORDS = enc.DEPTHWISE_GROUP_WORDS - enc.TABLE_WORDS
NEVER = 1 << 40


class Fused:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape, self._begin = units, shape, begin
        self._work = _Pointwise(units, shape, begin.work)
        self._stream = begin.depthwise - 1  # cycle of the depthwise stream's last word
        self._pes = sorted({pe for targets, _ in shape.beats for pe in targets})
        self._columns = sorted({pe % units.machine.cols for pe in self._pes})
        self._empty = dict.fromkeys(self._columns, 0)  # when no sum waits any more
        self._summed: dict[int, int] = {}  # when the first sum of the group under way is there
        self._ends: list[int] = []  # of depthwise groups: cycle behind the last multiplication
        self._issued: list[int] = []  # of depthwise groups: cycle in which the last sum left
        self._length = shape.taps * shape.pixels * units.slow
        # When the words of a group leave the queue, from its begin on.
        step = shape.taps * units.slow
        self._leave = [step * (f + 1) - 1 for f in range(shape.pixels)
                       for _ in range(shape.taps if f == shape.pixels - 1 else shape.stride)]

        self._held = max(1, units.ifmap.depth // len(self._leave))  # groups whose words a PE holds

    def run(self) -> int:
        units, shape = self._units, self._shape
        arrived: list[dict[int, int]] = []  # by group
        pushed = [len(pops) for pops in units.ifmap.pops]
        for job in range(shape.jobs):
            # Ifmap beats run ahead: others find the banks that they use.
            while len(arrived) < min(job + self._held, shape.jobs):
                units.front.catch_up(units.ifmap.sent)
                arrived.append(units.ifmap.send_group(shape, pushed))
            if job:
                self._finish(job - 1)
            self._multiply(job, arrived[job])
        self._finish(shape.jobs - 1)
        units.depthwise_sent = self._stream
        return self._work.end()

    def _words(self, job: int, first: int, count: int) -> None:
        """The depthwise stream sends words `first` on of a group."""
        units, place = self._units, job * enc.DEPTHWISE_GROUP_WORDS + first
        for word in range(place, place + count):
            # Others take their banks first; no depthwise group begins before these words are there.
            self._work.run_until(self._stream + 1)
            units.filters.catch_up(self._stream + 1)
            units.drain.fetch_tables(self._shape, self._stream + 1)
            masks = self._shape.banks_depthwise[word : word + 1]
            self._stream = units.banks.walk(self._stream, masks, Stream.DEPTHWISE)

    def _multiply(self, job: int, arrived: dict[int, int]) -> None:
        """PEs begin a group when ifmap words and taps are there, the last group's sums are gone, and they are
        between two filters."""
        cols = self._units.machine.cols
        if job >= TAP_GROUPS:
            self._stream = max(self._stream, self._ends[job - TAP_GROUPS])
        self._words(job, 0, TAP_WORDS)
        least = max(self._stream + 1, self._begin.work)
        ready = {pe: max(arrived[pe] + 1, self._empty[pe % cols], least) for pe in self._pes}
        begins = {at: self._work.run_until(at) for at in sorted(set(ready.values()))}
        for column in self._columns:
            self._summed[column] = max(begins[ready[row * cols + column]] for row in range(SET_ROWS)) + SUMMED
        for pe in self._pes:
            start = begins[ready[pe]]
            self._units.ifmap.pops[pe] += [start + n for n in self._leave]
        self._work.interrupt(self._length)
        self._ends.append(max(begins.values()) + self._length)

    def _finish(self, job: int) -> None:
        """A group's sums become words, once its table is there and the SUPERs have room."""
        if job >= TABLES:
            self._stream = max(self._stream, self._issued[job - TABLES])
        self._words(job, TAP_WORDS, enc.TABLE_WORDS)
        room, last = self._work.buffer_room(job), 0
        for column in self._columns:
            final = max(self._summed[column], self._stream + 1, room) + PIXEL * (self._shape.pixels - 1)
            self._empty[column] = final + PIXEL
            last = max(last, final)
        self._issued.append(last + TABLE_USED)
        self._work.add(last + WORD_READY)


class _Pointwise:
    """The pointwise work of the PE that is followed.

    words: of each depthwise group, when its words are with the PEs.
    """

    def __init__(self, units: Units, shape: PassShape, free: int) -> None:
        self._shape, self._filters, self._drain = shape, units.filters, units.drain
        self._length = shape.pixels * units.slow  # cycles of a filter
        self._groups_held = units.machine.word_buffer_words // shape.pixels  # by a SUPER
        self._ahead = units.machine.pixel_words // shape.pixels  # groups that the pixel queue holds
        self._free = free
        self.words: list[int] = []
        self._ends: list[int] = []  # of the groups done
        self._done: int | None = None  # filters done of the group under way
        self._sent = 0  # when the last group's words were with the PEs
        self._last_sent: list[int] = []  # of depthwise groups: when their words left the buffer

    def add(self, ready: int) -> None:
        """A depthwise group whose words are with the PEs in a cycle."""
        self.words.append(ready)

    def end(self) -> int:
        """Does all that is left; returns the first cycle behind it."""
        return self.run_until(NEVER)

    def interrupt(self, length: int) -> None:
        """A depthwise group takes the PE for so many cycles."""
        self._free += length

    def run_until(self, limit: int) -> int:
        """Works until cycle `limit`; returns the first cycle from then on between two filters."""
        while True:
            if self._done is None and not self._start(limit):
                if limit < NEVER:
                    self._free = max(self._free, limit)
                return self._free
            while self._done < self._shape.filters[0]:
                start = max(self._free, self._filters.there())
                if start >= limit:
                    self._free = max(self._free, limit)
                    return self._free
                self._free = start + self._length
                self._filters.use(self._free)
                self._done += 1
            self._end_group()
            if self._free >= limit:
                return self._free

    def _start(self, limit: int) -> bool:
        """Starts the next group if it can before cycle `limit`."""
        n, shape = len(self._ends), self._shape
        if n == shape.turns:
            return False
        rest, group = divmod(n, shape.groups)
        rest, inner = divmod(rest, shape.inner)
        outer, tile = divmod(rest, shape.tiles)
        job = (outer * shape.inner + inner) * shape.groups + group
        if job >= len(self.words):
            return False
        room = self._ends[n - self._ahead] if n >= self._ahead else 0
        sent = max(self.words[job], self._sent + shape.pixels, room + 1 + shape.pixels)
        start = max(self._free, sent, self._drain.halves[0] if group == 0 else 0)
        if start >= limit:
            return False
        self._sent, self._free = sent, start
        if tile == shape.tiles - 1:
            self._last_sent.append(sent)
        self._done = 0
        return True

    def _end_group(self) -> None:
        self._done = None
        self._ends.append(self._free)
        if len(self._ends) % self._shape.groups == 0:
            self._drain.tile(self._shape, self._free)

    def buffer_room(self, job: int) -> int:
        """When a SUPER has room for the first word of a depthwise group."""
        oldest = job - self._groups_held
        if oldest < 0:
            return 0
        while len(self._last_sent) <= oldest:
            if self._done is None:
                self._start(NEVER)
            self.run_until(self._free + 1)
        return self._last_sent[oldest]

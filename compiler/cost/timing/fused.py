# SPDX-License-Identifier: Apache-2.0
"""A fused pass on the timeline: depthwise group by depthwise group, pointwise work between them.

Depthwise work is followed in every PE of a set. Of the pointwise work one PE of each row is: in the column that is
last to get its ifmap words.
"""

from eyrie.compiler.cost.timing.drain import PIXEL
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.streams import NEVER
from eyrie.compiler.cost.timing.units import Begin, Units, Work
from eyrie.model import encoding as enc
from eyrie.model.config import DEPTHWISE_PIXELS, SET_ROWS

TABLE_USED = PIXEL - 1  # dw_requantizer: from a pixel's first cycle to its last
TAP_ROOM = 2  # pe: from the cycle in which a tap leaves to that in which one can be sent in its place
SUMMED = 1  # pe: from behind the MACs of a depthwise pixel to its sum: product, queue
WORD_READY = 14  # from a pixel's first cycle in dw_requantizer to its word in the PEs: to the last channel's second
#                  cycle (7), requantizer (4), word_buffer (2), dw_broadcaster


class Fused:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape, self._begin = units, shape, begin
        self._work: Work = _Pointwise(units, shape, begin.work)
        self._pes = sorted({pe for targets, _ in shape.beats for pe in targets})
        self._columns = sorted({pe % units.config.cols for pe in self._pes})
        self._begun: dict[int, int] = {}  # when each PE began the band under way
        self._late: dict[int, list[int]] = {}  # cycles for which its pixels with a slot at once wait for it
        self._ended: dict[int, int] = {}  # the first cycle after the band
        self._summed: dict[int, list[int]] = {}  # by column, when the sums of these pixels are there
        self._gone: dict[int, list[int]] = {}  # by column, when all sums of the group have left
        self._length = shape.taps * shape.pixels * units.slow  # cycles of a band
        step = self._step = shape.taps * units.slow  # cycles of a pixel
        self._first_sum = step + SUMMED  # from the last band's begin on
        placed = self._placed = min(shape.pixels, DEPTHWISE_PIXELS)  # pixels that have a slot at once
        self._on_time = [0] * placed
        # When the words of a band leave the queue, from its begin on, and the pixel for which they wait.
        self._leave = [
            (step * (f + 1) - 1, min(f, placed - 1))
            for f in range(shape.pixels)
            for _ in range(shape.taps if f == shape.pixels - 1 else shape.stride)
        ]

    def run(self) -> int:
        units, shape = self._units, self._shape
        units.work = self._work
        units.depthwise.take(shape.banks_depthwise, self._begin.depthwise)
        for job in range(shape.jobs):
            if job:
                self._finish(job - 1)
            self._multiply(job)
        self._finish(shape.jobs - 1)
        units.work = None
        return self._work.end()

    def _words(self, count: int, room: int) -> int:
        """The depthwise stream sends the next words, from cycle `room` on; returns that of the last."""
        stream = self._units.depthwise
        for _ in range(count):
            stream.send(max(room, stream.first()))
        return stream.sent

    def _multiply(self, job: int) -> None:
        for band in range(self._shape.bands):
            self._multiply_band(job * self._shape.bands + band, band == 0)
        cols, step, first = self._units.config.cols, self._step, self._first_sum
        for column in self._columns:
            pes = range(column, SET_ROWS * cols, cols)
            self._summed[column] = [
                max(self._begun[pe] + self._late[pe][f] for pe in pes) + step * f + first for f in range(self._placed)
            ]

    def _multiply_band(self, number: int, is_first: bool) -> None:
        """PEs begin a band when they are free for it, ifmap words and their row's taps are there, and they are between
        two filters. number: of the band in the pass; is_first: it is the first one of its group"""
        cols, last = self._units.config.cols, (number + 1) * len(self._leave) - 1
        taps, starts, slots = self._send_taps(), [], self._units.held.slots
        for row in range(SET_ROWS):
            least = max(taps[row] + 1, self._begin.work)
            ready = {
                pe: max(
                    self._units.ifmap.arrival(pe, last) + 1,
                    self._ended.get(pe, 0),
                    slots[pe % cols][0] if is_first else 0,
                    least,
                )
                for pe in self._pes
                if pe // cols == row
            }
            for pe, at in sorted(ready.items(), key=lambda item: item[1]):
                self._begin_band(pe, self._work.run_until(at, row), slots[pe % cols] if is_first else None)
            starts.append(max(self._begun[pe] for pe in ready))
        self._work.interrupt(starts, self._length)
        self._band_ends([max(self._ended[row * cols + column] for column in self._columns) for row in range(SET_ROWS)])

    def _begin_band(self, pe: int, begin: int, slots: list[int] | None) -> None:
        """A PE begins a band. slots: when those for the sums of its pixels are free; None: the pixels have theirs"""
        late, step = self._on_time, self._step
        if slots and slots[self._placed - 1] > begin:
            late, at = [], begin
            for f, slot in enumerate(slots[: self._placed]):
                at = max(at, slot)
                late.append(at - begin - step * f)
                at += step
        self._begun[pe], self._late[pe], self._ended[pe] = begin, late, begin + self._length + late[-1]
        self._use(pe, [begin + n + late[f] for n, f in self._leave])

    def _send_taps(self) -> list[int]:
        """Send the taps of a band, each to one row after the other; return the cycle of the last one of each row."""
        sent, held = [0] * SET_ROWS, self._units.held.taps
        for tap in range(self._shape.taps):
            for row in range(SET_ROWS):
                sent[row] = self._words(1, held[row][tap] + TAP_ROOM)
        return sent

    def _band_ends(self, ends: list[int]) -> None:
        """The rows have multiplied the words of a band behind these cycles."""
        self._leave_taps(ends)

    def _leave_taps(self, ends: list[int]) -> None:
        """The taps leave the queues one by one, with the last pixel."""
        slow = self._units.slow
        for taps, end in zip(self._units.held.taps, ends):
            taps.extend(range(end - self._step + slow - 1, end, slow))

    def _use(self, pe: int, last: list[int]) -> None:
        """The words of a band leave a PE's queue behind these cycles."""
        self._units.ifmap.pops[pe] += last

    def _finish(self, job: int) -> None:
        """A group's sums become words, once its table is there and the SUPERs have room."""
        held, step = self._units.held, self._step
        sent = self._words(enc.PARAMETER_WORDS, held.issued[0] + 1)
        room, last = max(self._work.buffer_room(job), self._begin.finish), 0
        for column in self._columns:
            summed = self._summed[column]
            beyond = [summed[-1] + step * f for f in range(1, self._shape.pixels - self._placed + 1)]
            at, gone = max(sent + 1, room, held.slots[column][-1]), list[int]()
            for there in [*summed, *beyond]:
                at = max(at, there) + PIXEL
                gone.append(at)
            self._gone[column], held.slots[column] = gone, [*held.slots[column], *gone][-DEPTHWISE_PIXELS:]
            last = max(last, at - PIXEL)
        held.issued.append(last + TABLE_USED)
        self._work.add(last + WORD_READY)


class _Pointwise:
    """The pointwise work of the PEs that are followed, one in each row.

    words: of each depthwise group, when its words are with the PEs.
    """

    def __init__(self, units: Units, shape: PassShape, free: int) -> None:
        self._shape, self._filters, self._drain, self._begins = shape, units.filters, units.drain, units.begins
        self._length = shape.pixels * units.slow  # cycles of a filter
        self._groups_held = units.config.word_buffer_words // shape.pixels  # by a SUPER
        self._ahead = units.config.pixel_words // shape.pixels  # groups that the pixel queue holds
        self._free = [free] * SET_ROWS  # by row: the first cycle in which the PE has nothing to do
        self.words: list[int] = []
        self._ends: list[int] = []  # of the groups done
        self._left = 0  # filters of the group under way
        self._sent = 0  # when the last group's words were with the PEs
        self._last_sent: list[int] = []  # of depthwise groups: when their words left the buffer

    def add(self, ready: int) -> None:
        """A depthwise group whose words are with the PEs in a cycle."""
        self.words.append(ready)

    def end(self) -> int:
        """Does all that is left; returns the first cycle behind it."""
        self.run_until(NEVER)
        return max(self._free)

    def interrupt(self, begins: list[int], length: int) -> None:
        """A depthwise group takes the PEs for so many cycles, by row from `begins` on at the earliest."""
        self._free = [max(free, begin) + length for free, begin in zip(self._free, begins)]

    def run_until(self, limit: int, row: int = 0) -> int:
        """Works until cycle `limit`; returns the first cycle from then on in which a row is between two filters."""
        while self._left or self._start(limit):
            while self._left:
                if max(self._free[self._filters.lead], self._filters.there(limit)) >= limit:
                    return self._between(limit, row)
                self._filters.use(self._free, self._length)
                self._left -= 1
            self._end_group()
            if self._free[self._filters.lead] >= limit:
                break
        return self._between(limit, row)

    def _between(self, at: int, row: int) -> int:
        """The first cycle from `at` on in which a row is between two filters, or has none, in work that is known."""
        return at + max(0, self._free[row] - at) % self._length

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
        half = max(self._drain.halves) if group == 0 else 0
        if max(self._free[self._filters.lead], sent, half) >= limit:
            return False
        self._sent, self._free = sent, [max(free, sent, half + row) for row, free in enumerate(self._free)]
        self._begins.append(self._free[self._filters.lead])
        if tile == shape.tiles - 1:
            self._last_sent.append(sent)
        self._left = shape.filters[0]
        return True

    def _end_group(self) -> None:
        self._ends.append(max(self._free))
        if len(self._ends) % self._shape.groups == 0:
            self._drain.tile(self._shape, self._filters.tile_end(self._free))

    def buffer_room(self, job: int) -> int:
        """When a SUPER has room for the first word of a depthwise group."""
        oldest, limit = job - self._groups_held, self._free[self._filters.lead]
        while len(self._last_sent) <= oldest:
            if not self._left:
                self._start(NEVER)
            limit = self.run_until(max(limit, self._free[self._filters.lead]) + 1)
        return self._last_sent[oldest] if oldest >= 0 else 0

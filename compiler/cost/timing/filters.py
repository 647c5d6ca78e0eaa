# SPDX-License-Identifier: Apache-2.0
"""The filter stream of pointwise work on the timeline: when each row of a set sees its next filter."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from eyrie.compiler.cost.timing.banks import NETWORK, READ, Banks
from eyrie.compiler.cost.timing.front import Front
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.shorten import Stretched
from eyrie.compiler.cost.timing.streams import NEVER, Words
from eyrie.model.config import SET_ROWS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode, Stream

SEEN = READ + NETWORK + 1  # from a beat's grant to the first multiplication
FREED = READ + 1  # from the grant of a chunk's last beat until the chunk is free


class Filters:
    """The filter stream of pointwise work: words of a group in turn to the rows, a beat a cycle, as far as the queues
    of the PEs reach and chunks are there. Of each row the PE that is last to use a word stands for all.
    """

    TIMES = ("_used", "_seen")

    def __init__(self, front: Front, config: AcceleratorConfig, banks: Banks, known: Callable[[int], None]) -> None:
        """known(cycle): makes sure that transfers and ifmap stream are known before a cycle."""
        self._front, self._depth = front, config.filter_words
        self.stream = Words(banks, Stream.FILTER, known)
        # By row, of its words: last cycle in which the PE uses each; first cycle in which it sees each. A pass begins
        # with as many words in each row as its queue holds, so that a shared word has one place in all rows.
        self._used = [[-1] * self._depth for _ in range(SET_ROWS)]
        self._seen = [[-1] * self._depth for _ in range(SET_ROWS)]
        self._chunks = 0  # of passes before
        self._filter = self._place = self._round = self._freed = 0
        self._turns_sent = self._turns_used = 0
        self._to = 0  # the row of the next beat
        self.lead = 0  # the row that has the first filter of the group that is used: none has more
        self.counts = [0] * SET_ROWS  # of that group, by row
        self._shape: PassShape  # of the last pass
        self._is_pointwise = False  # it is under way, and no convolution
        self._is_chunked = False  # as well, and waits for chunks of filters
        self._is_shared = False  # as well, and all rows take each filter

    def take(self, first: int, shape: PassShape, waits: bool) -> None:
        """A pass whose first beat may be sent in cycle `first`; a convolution takes the beats by itself. waits: for its
        chunks"""
        self._shape, self._is_pointwise = shape, shape.mode in (ArrayMode.FUSED, ArrayMode.POINTWISE)
        self._is_chunked = waits and shape.chunk_groups > 0
        self.stream.gate = self._chunk_there if self._is_chunked else None
        self._group_beats = len(shape.banks_filter) // shape.turns
        self._is_shared = self._is_pointwise and self._group_beats * shape.each < shape.tile
        self._filter = self._place = self._to = 0  # of the next beat: filter of its row, in its group; row, as dealt
        self._round = self._freed = 0  # filter that rows use next; chunks freed in the pass
        self._turns_sent = self._turns_used = 0
        self._count_filters()
        self.stream.take(shape.banks_filter, first)

    def rest(self) -> None:
        """All beats of the pass are sent and used."""
        for words in (*self._used, *self._seen):
            del words[: -self._depth]
        self.skip(self._freed)
        self._freed, self._is_pointwise, self._is_chunked, self.stream.gate = 0, False, False, None

    def skip(self, chunks: int) -> None:
        """A pass has used so many chunks."""
        self._chunks += chunks

    def there(self, limit: int = NEVER) -> int:
        """The first cycle in which row `lead` sees the next word that it uses; NEVER if that, or when the other rows
        see theirs, is not known before `limit`."""
        for filters, seen, used in zip(self.counts, self._seen, self._used):
            while self._round < filters and len(seen) <= len(used):
                self.wait_for_chunk()
                if self.stream.next(limit) is None:
                    return NEVER
                self._send()
        return self._seen[self.lead][len(self._used[self.lead])]

    def seen(self) -> list[int]:
        """By row, the first cycle in which it sees the next word that it uses; 0 of a row that has no more."""
        self.there()
        return [
            seen[len(used)] if self._round < count else 0
            for seen, used, count in zip(self._seen, self._used, self.counts)
        ]

    def wait_for_chunk(self) -> None:
        """The chunk that the next beat waits for, if it is not known when that is there, is loaded."""
        while self._is_chunked and not self.stream.ahead and self._chunk_there(len(self.stream.granted)) is None:
            self._front.chunk(self._chunks + self._chunk_of(len(self.stream.granted) // self._group_beats) + 1)

    def send(self, at: int) -> None:
        """The next beat goes in cycle `at`; the chunks whose last beat has been fetched are free."""
        self.stream.send(at)
        if self._is_chunked:
            self._free_chunks()

    def use(self, free: list[int], length: int) -> None:
        """All rows that have a filter in this round use the next word, for so many cycles. free: by row, the first
        cycle in which the PE can; set to the first one behind it."""
        for row, seen in enumerate(self._seen):
            if self._round < self.counts[row]:
                free[row] = max(free[row], seen[len(self._used[row])]) + length
                self._used[row].append(free[row] - 1)
        self._round += 1
        if self._round == self._shape.filters[0]:
            self._round = 0
            self._turns_used += 1
            if self._shape.rotation:
                self._count_filters()

    def _count_filters(self) -> None:
        """Of the group that is used next."""
        if self._is_pointwise:
            self.lead = self._shape.dealt_from(self._turns_used)
            self.counts = [self._shape.filters[(row - self.lead) % SET_ROWS] for row in range(SET_ROWS)]

    def tile_end(self, free: list[int]) -> int:
        """The cycle in which the tile that has been used ends for the drain: it comes to the first filter of a row
        behind those of the rows dealt before, and a beat takes a cycle from row to row. free: by row, the first cycle
        behind its work."""
        first = self._shape.dealt_from(self._turns_used - 1)
        return max(end - row - (row - first) % SET_ROWS * self._shape.each for row, end in enumerate(free))

    def catch_up(self, cycle: int) -> None:
        """Sends what is known to have room before a cycle; what needs a chunk that is not there yet stays."""
        while (
            self._is_pointwise
            and len(self._seen[self._to]) + self._shape.each <= len(self._used[self._to]) + self._depth
            and (at := self.stream.next(cycle)) is not None
            and at < cycle
        ):
            self._send()
        self.stream.fetch(cycle)

    def _send(self) -> None:
        """Sends the next beat, for which there is room when words so many before are used."""
        stream, shape, filters, each = self.stream, self._shape, self._shape.filters, self._shape.each
        seen, used = self._seen[self._to], self._used[self._to]
        before = len(seen) + each - 1 - self._depth
        last = max(row[before] for row in self._used) if self._is_shared else used[before]
        at = max(stream.first(), last + 1)
        self.send(at)
        if self._is_shared:
            for row in self._seen:
                row.append(at + 1)
            self._turns_sent += 1
            return
        seen += (at + 1,) * each
        place = self._place + 1
        while place < SET_ROWS and self._filter >= filters[place]:
            place += 1
        self._place = place if place < SET_ROWS else 0
        if self._place == 0:
            self._filter += each
            if self._filter >= filters[0]:
                self._filter = 0
                self._turns_sent += 1
        self._to = (self._place + shape.dealt_from(self._turns_sent)) % SET_ROWS if shape.rotation else self._place

    def _chunk_there(self, beat: int) -> int | None:
        """A chunk's first beat waits for it."""
        shape = self._shape
        turn, first = divmod(beat, self._group_beats)
        inner, group = divmod(turn % (shape.inner * shape.groups), shape.groups)
        if first or inner or group % shape.chunk_groups:
            return 0
        chunk = self._chunks + self._chunk_of(turn)
        return self._front.chunks_loaded[chunk] if chunk < len(self._front.chunks_loaded) else None

    def _chunk_of(self, turn: int) -> int:
        """The chunk of the pass in which a turn's filters are."""
        shape = self._shape
        round_, rest = divmod(turn, shape.inner * shape.groups)
        return (round_ * shape.groups + rest % shape.groups) // shape.chunk_groups

    def _free_chunks(self) -> None:
        """Chunks whose last beat has been fetched."""
        shape = self._shape
        while True:
            round_, chunk = divmod(self._freed, shape.groups // shape.chunk_groups)
            last = ((round_ + 1) * shape.inner - 1) * shape.groups + (chunk + 1) * shape.chunk_groups
            if last * self._group_beats > len(self.stream.granted):
                return
            self._front.chunks_freed.append(self.stream.granted[last * self._group_beats - 1] + FREED)
            self._freed += 1

    def chunk_events(self, shape: PassShape, begins: list[int], stretched: Stretched | None) -> list[tuple[int, bool]]:
        """Return when each chunk of a pass is needed first (True) and when it is free (False), in the order of time, as
        if no beat had waited for its chunk.

        begins: of the channel groups; stretched: the times of the whole pass, if a shortened one was followed
        """
        events = list[tuple[int, bool]]()
        if not shape.chunk_groups:
            return events
        gates = [beat for beat, _ in self.stream.gated]
        waited = [0, *accumulate(cycles for _, cycles in self.stream.gated)]

        def fetched(beat: int) -> int:
            return self.stream.granted[beat] - waited[bisect_right(gates, beat)]

        def place(run: int, group: int) -> tuple[int, int]:
            return stretched.place(run, group) if stretched else (run * shape.groups + group, 0)

        for round_ in range(shape.runs // shape.inner):
            for chunk in range(0, shape.groups, shape.chunk_groups):
                turn, later = place(round_ * shape.inner, chunk)
                last, more = place((round_ + 1) * shape.inner - 1, chunk + shape.chunk_groups - 1)
                needed = fetched(turn * self._group_beats)
                if stretched:  # no beat has waited: the chunk is needed when the PEs begin
                    needed = max(needed, begins[turn] - SEEN)
                free = fetched((last + 1) * self._group_beats - 1) + FREED
                events += [(needed + later, True), (free + more, False)]
        return sorted(events)

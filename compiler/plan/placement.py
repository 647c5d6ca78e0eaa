# SPDX-License-Identifier: Apache-2.0
"""Places buffers in the GLB: exact lifetimes, and loaded buffers where their space is free longest."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf

from eyrie.compiler.ir.buffer import Buffer
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.plan.arrival import Piece
from eyrie.model.config import GLB_WORD_BYTES

GRID_WORDS = 256  # addresses that are tried beside those at the edges of other buffers
RECENT = 40  # ranges of words that fell free last
PERIOD = 16  # half jobs of a list in `Space._taken`


class NoRoom(DoesNotFit):
    """There is no place for a buffer in a GLB of so many words."""

    def __init__(self, buffer: Buffer, words: int) -> None:
        demand, bound = buffer.words * GLB_WORD_BYTES, words * GLB_WORD_BYTES
        super().__init__(
            f"{buffer.name}: no room for {demand} bytes in the GLB of {bound}",
            layer=buffer.group,
            demand=demand,
            bound=bound,
        )
        self.buffer = buffer


@dataclass
class Space:
    """The GLB over time: which words are taken in each period, as (first, last + 1, birth, death), and until when, as
    (death, first, last + 1, jobs that are over when they can be loaded), each in this order."""

    words: int
    placed: list[Buffer] = field(default_factory=list)
    _taken: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    _until: list[tuple[int, int, int, float]] = field(default_factory=list)

    def free_from(self, buffer: Buffer, words: int) -> list[float]:
        """For each run of so many words of a placed buffer, the jobs that are over when all of them can be loaded: the
        last one in part where words of a ring fall free while it runs."""
        return _runs(self._until_birth(buffer), buffer.placed, buffer.words, words)

    def _until_birth(self, buffer: Buffer) -> list[tuple[int, int, int, float]]:
        return self._until[: bisect_left(self._until, (buffer.birth,))]

    def pieces(self) -> list[Piece]:
        """What is loaded as a whole."""
        return [
            piece
            for buffer in self.placed
            if buffer.loaded and not buffer.chunk
            for piece in _pieces(buffer, self.free_from(buffer, buffer.words // 4 + 1))
        ]

    def place(
        self, buffer: Buffer, where: float | None = None, copies: Sequence[Buffer] = (), apart: bool = False
    ) -> None:
        """Find an even address for a buffer, and for copies of it at other times, and take its words. Raise NoRoom.

        where  the share of the highest address that the buffer comes as near to as it can; None: a loaded buffer goes
               where the words have been free longest, others to the lowest address
        apart  a loaded buffer need not lie at an edge of a buffer that lives meanwhile
        """
        fitting = self._fitting(buffer, copies, apart)
        if not fitting:
            raise NoRoom(buffer, self.words)
        if buffer.loaded and where is None:
            buffer.address = self._soonest(buffer, fitting)
        else:
            wanted = (where or 0.0) * (self.words - buffer.words)
            above = bisect_left(fitting, wanted)
            buffer.address = min(fitting[max(above - 1, 0) : above + 1], key=lambda a: (abs(a - wanted), a))
        self.take(buffer, copies)

    def take(self, buffer: Buffer, copies: Sequence[Buffer] = ()) -> None:
        """Take the words of a buffer, and of copies of it at other times, at its address."""
        if buffer.rotates:
            buffer.start = _order(self.free_from(buffer, buffer.chunk))[1]
        for placed in (buffer, *copies):
            placed.address = buffer.address
            self.placed.append(placed)
            for taken, until in self._entries(placed):
                for period in _periods(*taken[2:]):
                    insort(self._taken[period], taken)
                for entry in until:
                    insort(self._until, entry)

    def remove(self, buffer: Buffer) -> None:
        """Free the words of a buffer."""
        self.placed = [placed for placed in self.placed if placed is not buffer]
        for taken, until in self._entries(buffer):
            for period in _periods(*taken[2:]):
                del self._taken[period][bisect_left(self._taken[period], taken)]
            for entry in until:
                del self._until[bisect_left(self._until, entry)]

    def _entries(self, buffer: Buffer) -> Iterator[tuple[tuple[int, int, int, int], list[tuple[int, int, int, float]]]]:
        """Yield what each part of a placed buffer adds to `_taken` and to `_until`."""
        for part in buffer.parts:
            start = buffer.placed + part.offset
            until = [(part.death, first, end, job) for first, end, job in buffer.falls_free(part)]
            yield (start, start + part.words, part.birth, part.death), until

    def conflicts(self, buffer: Buffer, copies: Sequence[Buffer] = ()) -> Iterator[tuple[Buffer, int, int]]:
        """Yield placed buffers, each with a range of addresses, (first, last + 1), at which a new one would need
        some of its words while it lives."""
        parts = [(part.offset, part.end, part.birth, part.death) for each in (buffer, *copies) for part in each.parts]
        birth, death = min(each.birth for each in (buffer, *copies)), max(each.death for each in (buffer, *copies))
        for other in self.placed:
            if other.death < birth or other.birth > death:
                continue
            spans = [
                (start - end + 1, start + there.words - offset)
                for there, start in ((there, other.placed + there.offset) for there in other.parts)
                for offset, end, born, dead in parts
                if there.birth <= dead and there.death >= born
            ]
            for low, high in merged_spans(spans):
                yield other, low, high

    def largest_free(self, birth: int, death: int) -> int:
        """Words of the largest piece (from an even address) that is free all this time."""
        return max((end - start - start % 2 for start, end in self._pieces(birth, death)), default=0)

    def _pieces(self, birth: int, death: int) -> list[tuple[int, int]]:
        """(first word, last + 1) of all that is free all this time."""
        found, free = [], 0
        periods = _periods(birth, death)
        taken = self._taken[periods[0]]
        if len(periods) > 1:
            taken = sorted({each for period in periods for each in self._taken[period]})
        for start, end, born, dead in taken:
            if born <= death and dead >= birth:
                if start > free:
                    found.append((free, start))
                if end > free:
                    free = end
        if free < self.words:
            found.append((free, self.words))
        return found

    def _fitting(self, buffer: Buffer, copies: Sequence[Buffer], apart: bool) -> list[int]:
        """The even addresses that are tried and at which all words are free: where a part begins or ends at
        an edge of what is taken during its life and, for what is not loaded, those of a grid; apart: at those of what
        was taken until then, too."""
        allowed = [(0, self.words - buffer.words)]  # first and last address, in order and apart
        edges = set[int]()
        pieces: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for part in [part for each in (buffer, *copies) for part in each.parts]:
            life, offset, words = (part.birth, part.death), part.offset, part.words
            if life not in pieces:
                pieces[life] = self._pieces(*life)
            fitting = [(start, end - words) for start, end in pieces[life] if end - start >= words]
            allowed = [
                (low if low > first - offset else first - offset, high if high < last - offset else last - offset)
                for low, high in allowed
                for first, last in fitting
                if low <= last - offset and first - offset <= high
            ]
            if not allowed:
                return []
            for first, last in fitting:
                edges.add(first + first % 2 - offset)
                edges.add(last // 2 * 2 - offset)
        if apart:
            for _, start, end, _ in self._until_birth(buffer)[-RECENT:]:
                edges |= {start, end, start - buffer.words, end - buffer.words}
        if not buffer.loaded:
            for low, high in allowed:
                edges.update(range(-(-low // GRID_WORDS) * GRID_WORDS, high + 1, GRID_WORDS))
        even = sorted([edge for edge in edges if edge % 2 == 0])
        return [edge for low, high in allowed for edge in even[bisect_left(even, low) : bisect_right(even, high)]]

    def _soonest(self, buffer: Buffer, addresses: list[int]) -> int:
        """Return the address, of rising ones at which a buffer fits, for which fewest jobs are over when all of its
        words can be loaded; for a buffer that chunks pass through, the sum over its slots, in their order."""
        before, size = self._until_birth(buffer), buffer.words
        if buffer.rotates:
            return min(addresses, key=lambda address: _order(_runs(before, address, size, buffer.chunk))[0])
        before.reverse()
        best, least = addresses[0], inf
        for address in addresses:
            last, latest = address + size, 0.0
            for dead, start, end, jobs in before:
                if start < last and end > address:
                    if jobs > latest:
                        latest = jobs
                elif dead // 2 + 1 <= latest:
                    break
                if latest >= least:
                    break
            if latest < least:
                best, least = address, latest
        return best


def _periods(birth: int, death: int) -> range:
    """Return the numbers of the periods of a life."""
    return range(birth // PERIOD, death // PERIOD + 1)


def merged_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of spans."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _runs(before: list[tuple[int, int, int, float]], low: int, size: int, words: int) -> list[float]:
    """`Space.free_from` of a buffer of a size at an address, of what is over before its birth."""
    high, found, least = low + size, [0.0] * -(-size // words), 0.0
    for dead, start, end, jobs in reversed(before):
        if dead // 2 + 1 <= least:  # nor do those that died before take longer
            break
        if start < high and end > low and jobs > least:
            first = start - low if start > low else 0
            last = end - low if end < high else size
            for run in range(first // words, (last - 1) // words + 1):
                if jobs > found[run]:
                    found[run] = jobs
            least = min(found)
    return found


def _pieces(buffer: Buffer, free: list[float]) -> list[Piece]:
    """Of runs of a buffer that are free from jobs on."""
    words = buffer.words // len(free)
    return [Piece(buffer.birth // 2, job, words * free.count(job)) for job in set(free)]


def _order(free: list[float]) -> tuple[float, int]:
    """Of a ring whose slots are free when so many jobs are over: the slot from which on they fall free soonest, in
    their order, behind the sum of these."""
    starts = [slot for slot in range(len(free)) if free[slot] != free[slot - 1]] or [0]
    return min((sum(accumulate(free[start:] + free[:start], max)), start) for start in starts)

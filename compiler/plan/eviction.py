# SPDX-License-Identifier: Apache-2.0
"""A GLB in which a buffer that finds no room evicts others, which get new addresses."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from eyrie.compiler.ir.buffer import Buffer, whole
from eyrie.compiler.plan.placement import NoRoom, Space, merged_spans

MOST_EVICTIONS = 60  # for one arrangement
STAYS = -1  # number of what cannot be evicted
NEVER = 1 << 60  # cost of evicting it


class EvictingSpace(Space):
    """The GLB over time, like Space.

    A buffer that finds no room evicts the buffers that are cheapest to evict: few words, and evicted seldom. These are
    placed again, and may evict others.

    evictions: of each buffer, by its number; buffers that share an address have one number
    """

    def __init__(self, words: int) -> None:
        super().__init__(words)
        self.evictions: Counter[int] = Counter()
        self._buffers: list[list[Buffer]] = []
        self._number: dict[int, int] = {}

    def place(
        self, buffer: Buffer, where: float | None = None, copies: Sequence[Buffer] = (), apart: bool = False
    ) -> None:
        """Place a buffer like Space. Raise NoRoom if evictions do not help."""
        for each in (buffer, *copies):
            self._number[id(each)] = len(self._buffers)
        self._buffers.append([buffer, *copies])
        try:
            super().place(buffer, where, copies, apart)
        except NoRoom as failure:
            self._evict_for(buffer, copies, failure)

    def make_room(self, words: int, birth: int, death: int) -> bool:
        """Evict buffers until so many words in one piece are free all this time. Return whether that is possible."""
        if self.largest_free(birth, death) >= words:
            return True
        taken = defaultdict(list, {period: list(taken) for period, taken in self._taken.items()})
        kept = list(self.placed), taken, list(self._until), self.evictions.copy()
        places = [(buffer, buffer.address, buffer.start) for buffer in self.placed]
        room = whole("", "", words, birth, death)
        try:
            self._evict_for(room, (), NoRoom(room, self.words))
            self.remove(room)
            return True
        except NoRoom:
            self.placed, self._taken, self._until, self.evictions = kept
            for buffer, address, start in places:
                buffer.address, buffer.start = address, start
            return False

    def _evict_for(self, buffer: Buffer, copies: Sequence[Buffer], failure: NoRoom) -> None:
        waiting = [(buffer, copies)]
        while waiting:
            buffer, copies = waiting.pop()
            try:
                super().place(buffer, None, copies)
                continue
            except NoRoom:
                found = self._cheapest(buffer, copies)
            if found is None or self.evictions.total() >= MOST_EVICTIONS:
                raise failure
            buffer.address, numbers = found
            for number in numbers:
                self.evictions[number] += 1
                for copy in self._buffers[number]:
                    self.remove(copy)
            self.take(buffer, copies)
            evicted = [self._buffers[number] for number in numbers]
            waiting += [(first, rest) for first, *rest in sorted(evicted, key=lambda of: of[0].words)]

    def _cheapest(self, buffer: Buffer, copies: Sequence[Buffer]) -> tuple[int, set[int]] | None:
        """Return the address at which the buffers in the way are cheapest to evict, and their numbers; None if there is
        none."""
        spans, last = defaultdict[int, list[tuple[int, int]]](list), self.words - buffer.words
        edges = {0, last}
        for other, low, high in self.conflicts(buffer, copies):
            spans[self._number.get(id(other), STAYS)].append((low, high))
            edges |= {high + high % 2, (low - 1) // 2 * 2}
        changes = []  # (address, cost from there on, less the cost before it)
        for number, of in spans.items():
            cost = self._cost(number)
            for low, high in merged_spans(of):
                changes += [(low, cost), (high, -cost)]
        changes.sort(reverse=True)
        cost, best = 0, (NEVER, 0)
        for address in sorted(edge for edge in edges if 0 <= edge <= last):
            while changes and changes[-1][0] <= address:
                cost += changes.pop()[1]
            best = min(best, (cost, address))
        least, address = best
        if least >= NEVER:
            return None
        return address, {number for number, of in spans.items() if any(low <= address < high for low, high in of)}

    def _cost(self, number: int) -> int:
        """Return the cost of evicting the buffers of a number."""
        return NEVER if number == STAYS else self._buffers[number][0].words * (1 + self.evictions[number])

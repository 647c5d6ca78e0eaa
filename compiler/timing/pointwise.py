# SPDX-License-Identifier: Apache-2.0
"""A pointwise pass on the timeline, group by group; each column has its own pixels."""

from compiler.timing.shape import PassShape
from compiler.timing.units import Begin, Units


class Pointwise:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape, self._begin = units, shape, begin
        self._columns = sorted({pe for targets, _ in shape.beats for pe in targets})
        self._ends: dict[int, list[int]] = {column: [] for column in self._columns}  # of groups
        self._pushed = dict.fromkeys(self._columns, 0)  # pixels
        self._arrived: list[dict[int, int]] = []  # by group: when each column sees its last pixel

    def run(self) -> int:
        units, shape = self._units, self._shape
        free = dict.fromkeys(self._columns, self._begin.work)
        held = units.machine.pixel_words // shape.pixels  # groups whose pixels a PE holds
        for n in range(shape.turns):
            # Ifmap beats run ahead: filters find the banks that they use.
            while len(self._arrived) < min(n + held, shape.turns):
                self._send()
            half = units.drain.halves[0] if n % shape.groups == 0 else 0
            starts = {column: max(free[column], self._arrived[n][column], half) for column in self._columns}
            least = self._use_filters(max(starts.values()))
            for column in self._columns:
                free[column] = max(starts[column] + shape.filters[0] * shape.pixels * units.slow, least)
                self._ends[column].append(free[column])
            if (n + 1) % shape.groups == 0:
                units.drain.tile(shape, max(free.values()))
        return max(free.values())

    def _send(self) -> None:
        """The ifmap beats of the next group."""
        ifmap, depth, pixels = self._units.ifmap, self._units.machine.pixel_words, self._shape.pixels
        self._units.front.catch_up(ifmap.sent)
        arrived: dict[int, int] = {}
        for targets, words in self._shape.beats:
            # Only a PE that runs a pointwise pass takes pixels.
            at = max(ifmap.next(), self._begin.work)
            for column in targets:
                self._pushed[column] += words
                if self._pushed[column] > depth:
                    at = max(at, self._ends[column][(self._pushed[column] - depth - 1) // pixels])
                arrived[column] = at + 1
            ifmap.send(at)
        self._arrived.append(arrived)

    def _use_filters(self, start: int) -> int:
        """The column that begins last, in cycle `start`, uses a group's filters.

        Returns the cycle before which no column is done with them.
        """
        filters, count = self._units.filters, self._shape.filters[0]
        length, least = self._shape.pixels * self._units.slow, 0
        for k in range(count):
            there = filters.there()
            start = max(start, there) + length
            least = max(least, there + (count - k) * length)
            filters.use(start)
        return least

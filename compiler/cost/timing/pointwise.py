# SPDX-License-Identifier: Apache-2.0
"""A pointwise pass on the timeline, group by group; each column has its own pixels."""

from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.units import Begin, Units
from eyrie.model.config import SET_ROWS


class Pointwise:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do. Columns that get their pixels first
    are done first, and go on to the next pass, if that is pointwise, by themselves."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape, self._begin = units, shape, begin
        self._columns = sorted({pe for targets, _ in shape.beats for pe in targets})

    def run(self) -> int:
        units, shape, ifmap = self._units, self._shape, self._units.ifmap
        length = shape.pixels * units.slow  # cycles of a filter
        free = {column: [self._begin.columns[column]] * SET_ROWS for column in self._columns}  # by row
        last = [self._begin.work] * SET_ROWS  # as well, of the column that begins last
        ifmap.taken = self._begin.columns  # only a PE that runs a pointwise pass takes pixels
        for n in range(shape.turns):
            half = max(units.drain.halves) if n % shape.groups == 0 else 0
            word = (n + 1) * shape.pixels - 1
            there = {column: ifmap.arrival(column, word) + 1 for column in self._columns}
            latest = max(there.values())
            last = [max(end, half + row, latest) for row, end in enumerate(last)]
            units.begins.append(last[units.filters.lead])
            counts, least = units.filters.counts, [0] * SET_ROWS  # the cycle before which no column is done, by row
            for k in range(shape.filters[0]):
                least = [
                    max(end, seen + (count - k) * length) if k < count else end
                    for end, count, seen in zip(least, counts, units.filters.seen())
                ]
                units.filters.use(last, length)
            for column, ends in free.items():
                free[column] = [
                    max(max(end, there[column], half + row) + count * length, done)
                    for row, (end, count, done) in enumerate(zip(ends, counts, least))
                ]
                ifmap.pixels[column] += [max(free[column]) - 1] * shape.pixels
            if (n + 1) % shape.groups == 0:
                units.drain.tile(shape, max(map(units.filters.tile_end, (last, *free.values()))))
        held = units.held.free
        for column, ends in free.items():
            held[column] = max(ends)
        return max(*last, *held)

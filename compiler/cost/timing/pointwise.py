# SPDX-License-Identifier: Apache-2.0
"""A pointwise pass on the timeline, group by group; each column has its own pixels."""

from compiler.cost.timing.shape import PassShape
from compiler.cost.timing.units import Begin, Units
from model.config import SET_ROWS


class Pointwise:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape, self._begin = units, shape, begin
        self._columns = sorted({pe for targets, _ in shape.beats for pe in targets})

    def run(self) -> int:
        units, shape, ifmap = self._units, self._shape, self._units.ifmap
        length = shape.pixels * units.slow  # cycles of a filter
        free = dict.fromkeys(self._columns, self._begin.work)
        last = [self._begin.work] * SET_ROWS  # the same by row, of the column that begins last
        ifmap.taken = self._begin.work  # only a PE that runs a pointwise pass takes pixels
        for n in range(shape.turns):
            half = max(units.drain.halves) if n % shape.groups == 0 else 0
            word = (n + 1) * shape.pixels - 1
            starts = {column: max(free[column], ifmap.arrival(column, word) + 1, half) for column in self._columns}
            last = [max(end, half + row, *starts.values()) for row, end in enumerate(last)]
            least = 0  # the cycle before which no column is done with the filters
            for k in range(shape.filters[0]):
                least = max(least, units.filters.there() + (shape.filters[0] - k) * length)
                units.filters.use(last, length)
            for column in self._columns:
                free[column] = max(starts[column] + shape.filters[0] * length, least)
                ifmap.pixels[column] += [max(free[column], *last[1:]) - 1] * shape.pixels
            if (n + 1) % shape.groups == 0:
                units.drain.tile(shape, max(units.filters.tile_end(last), *free.values()))
        return max(*last, *free.values())

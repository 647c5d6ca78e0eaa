# SPDX-License-Identifier: Apache-2.0
"""A convolution pass on the timeline, pixel by pixel in every PE of a set."""

from compiler.timing.shape import PassShape
from compiler.timing.units import Begin, Units
from model.config import SET_ROWS


class Convolution:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape = units, shape
        self._pops = units.ifmap.pops
        pes = self._pes = sorted({pe for targets, _ in shape.beats for pe in targets})
        self._row_of = {pe: pe // units.machine.cols for pe in pes}
        self._rows = {row: [pe for pe in pes if self._row_of[pe] == row] for row in range(SET_ROWS)
                      if shape.filters[row]}
        self._base = {pe: len(self._pops[pe]) for pe in pes}  # ifmap words of passes before
        self._free = dict.fromkeys(pes, begin.work)
        self._pixel = dict.fromkeys(pes, 0)  # done in this pass
        self._ends: dict[int, list[int]] = {pe: [] for pe in pes}  # of groups
        self._begins: list[dict[int, int]] = []  # of groups: by row, when filters and psum half allow it
        self._run = shape.filters[0] * shape.taps  # filter words of a PE and a group
        self._words = (shape.pixels - 1) * shape.stride + shape.taps  # ifmap words likewise
        self._drained = 0  # groups whose tiles have been handed to the drain

    def run(self) -> int:
        for n in range(self._shape.turns):
            self._finish(n + 1)
        return max(self._free.values())

    def _forward(self, pe: int, words: int) -> None:
        """Does the pixels of a PE until so many words, of all passes, are used up."""
        shape, pops, ifmap = self._shape, self._pops[pe], self._units.ifmap
        while len(pops) < words:
            group, f = divmod(self._pixel[pe], shape.pixels)
            if group == len(self._begins):
                self._begin_group()
            last = f == shape.pixels - 1
            # What a pixel leaves behind has to be there, too.
            needed = max(shape.taps, 0 if last else shape.stride)
            arrival = ifmap.arrival(pe, group * self._words + f * shape.stride + needed - 1, self._forward)
            start = max(self._free[pe], arrival + 1)
            if f == 0:
                start = max(start, self._begins[group][self._row_of[pe]])
            end = self._free[pe] = start + self._run * self._units.slow
            self._pixel[pe] += 1
            pops += [end - 1] * (shape.taps if last else shape.stride)
            if last:
                self._ends[pe].append(end)

    def _finish(self, groups: int) -> None:
        """All PEs do so many groups, and the tiles in them drain."""
        for pe in self._pes:
            self._forward(pe, self._base[pe] + groups * self._words)
        while self._drained + self._shape.groups <= groups:
            self._drained += self._shape.groups
            self._units.drain.tile(self._shape, max(ends[self._drained - 1] for ends in self._ends.values()))

    def _begin_group(self) -> None:
        """The next group's filters; a row takes them when it is done with words so many before."""
        n, half, begins, stream = len(self._begins), 0, {}, self._units.filters.stream
        held, over = divmod(self._units.machine.filter_words, self._run)  # groups, and words of one more
        if n % self._shape.groups == 0:
            self._finish(n)
            half = self._units.drain.half
        elif n >= held:
            self._finish(n - held + 1)
        lanes = self._units.machine.filter_lanes
        for row, pes in self._rows.items():
            begins[row] = half + row
            for k in range(0, self._run, lanes):
                last = k + lanes - 1  # of the beat's words
                used = n - held - (last < over)  # the group whose words make room
                room = max(self._ends[pe][used] for pe in pes) if used >= 0 else 0
                stream.send(max(room, stream.next()))
                begins[row] = max(begins[row], stream.sent + 1 - k * self._units.slow)
        self._begins.append(begins)

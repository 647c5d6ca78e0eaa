# SPDX-License-Identifier: Apache-2.0
"""A convolution pass on the timeline, pixel by pixel in every PE of a set."""

from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.streams import NEVER
from eyrie.compiler.cost.timing.units import Begin, Units
from eyrie.model.config import SET_ROWS


class Convolution:
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        self._units, self._shape = units, shape
        self._pops = units.ifmap.pops
        pes = self._pes = sorted({pe for targets, _ in shape.beats for pe in targets})
        self._row_of = {pe: pe // units.config.cols for pe in pes}
        self._rows = {
            row: [pe for pe in pes if self._row_of[pe] == row] for row in range(SET_ROWS) if shape.filters[row]
        }
        self._base = {pe: len(self._pops[pe]) for pe in pes}  # ifmap words of passes before
        self._free = dict.fromkeys(pes, begin.work)  # of the last set, which may be later
        self._first_free = dict.fromkeys(pes, begin.work)  # of the first set
        self._pixel = dict.fromkeys(pes, 0)  # done in this pass
        self._begun: dict[int, int] = {}  # first cycles of groups
        self._ends: dict[int, list[int]] = {pe: [] for pe in pes}  # of groups, in the last set
        self._first_ends: dict[int, list[int]] = {pe: [] for pe in pes}  # as well, in the first
        # Of groups: by row, when filters and psum half allow it, for the first and the last set.
        self._begins: list[dict[int, tuple[int, ...]]] = []
        # Of groups: by row, when the filters sent so far do, for the first and the last pair of sets.
        self._filters: list[dict[int, list[int]]] = []
        self._beat = 0  # filter beats sent
        self._run = shape.filters[0] * shape.taps  # filter words of a PE and a group
        self._row_beats = -(-self._run // units.config.filter_lanes)  # of the filters of a row and a group
        self._pair_beats = len(self._rows) * self._row_beats  # as well, of all rows
        self._beats = shape.set_pairs * self._pair_beats  # and all sets
        self._words = (shape.pixels - 1) * shape.stride + shape.taps  # ifmap words as well
        self._drained = 0  # groups whose tiles have been handed to the drain

    def run(self) -> int:
        self._units.convolution = self
        for n in range(self._shape.turns):
            self._finish(n + 1)
            self._units.begins.append(self._begun.pop(n))
        self._units.convolution = None
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
            begin = self._begins[group][self._row_of[pe]] if f == 0 else (0, 0)
            length = self._run * self._units.slow
            self._first_free[pe] = max(self._first_free[pe], arrival + 1, begin[0]) + length
            end = self._free[pe] = max(self._free[pe], arrival + 1, begin[1]) + length
            self._pixel[pe] += 1
            pops += [end - 1] * (shape.taps if last else shape.stride)
            if f == 0:
                self._begun[group] = min(self._begun.get(group, NEVER), self._first_free[pe] - length)
            if last:
                self._ends[pe].append(end)
                self._first_ends[pe].append(self._first_free[pe])

    def _finish(self, groups: int) -> None:
        """All PEs do so many groups, and the tiles in them drain."""
        for pe in self._pes:
            self._forward(pe, self._base[pe] + groups * self._words)
        while self._drained + self._shape.groups <= groups:
            self._drained += self._shape.groups
            # A beat, to which all rows add, takes a cycle from row to row.
            chains = self._shape.chains
            sets = [self._first_ends if 2 * chain < chains else self._ends for chain in range(chains)]
            self._units.drain.tile(
                self._shape, *(max(ends[pe][self._drained - 1] - self._row_of[pe] for pe in self._pes) for ends in sets)
            )

    def _begin_group(self) -> None:
        """The next group's filters; a row takes them when it is done with words so many before."""
        n, halves, held = len(self._begins), (0, 0), self._units.config.filter_words // self._run
        if n % self._shape.groups == 0:
            self._finish(n)
            halves = self._units.drain.halves
        elif n >= held:
            self._finish(n - held + 1)
        while self._beat < (n + 1) * self._beats:
            self._send(NEVER)
        self._begins.append(
            {
                row: tuple(max(half + row, at) for half, at in zip(halves, there))
                for row, there in self._filters[n].items()
            }
        )

    def send_filters(self, limit: int) -> None:
        """Sends the filters that are known to have room before a cycle."""
        while self._beat < self._beats * self._shape.turns and self._send(limit):
            pass

    def _send(self, limit: int) -> bool:
        """Sends the next beat of filters, unless it goes at `limit` or later, or depends on what is not known yet."""
        units = self._units
        held, over = divmod(units.config.filter_words, self._run)  # groups, and words of one more
        n, rest = divmod(self._beat, self._beats)
        pair, in_pair = divmod(rest, self._pair_beats)
        ends = self._ends if pair == self._shape.set_pairs - 1 else self._first_ends
        row, k = divmod(in_pair, self._row_beats)
        k *= units.config.filter_lanes
        last = min(k + units.config.filter_lanes, self._run) - 1
        used = n - held - (last < over)  # the group whose words make room for the beat's
        if used >= 0 and any(len(ends[pe]) <= used for pe in self._rows[row]):
            return False
        if limit == NEVER:
            units.filters.wait_for_chunk()
        at = units.filters.stream.next(limit)
        if at is None:
            return False
        if used >= 0:  # the words of a group leave one by one with its last pixel
            behind = (n * self._run + last - units.config.filter_words) % self._run
            later = (self._run - 1 - behind) * units.slow
            at = max(at, *(ends[pe][used] - later for pe in self._rows[row]))
        if at >= limit:
            return False
        units.filters.send(at)
        if rest == 0:
            self._filters.append({row: [0, 0] for row in self._rows})
        there = self._filters[n][row]
        for which in (0, 1) if self._shape.set_pairs == 1 else (min(pair, 1),):
            there[which] = max(there[which], at + 1 - k * units.slow)
        self._beat += 1
        return True

# SPDX-License-Identifier: Apache-2.0
"""A vector pass on the timeline, word by word: ifmap stream, operation, ofmap."""

from eyrie.compiler.cost.timing.banks import ASK
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.units import Units
from eyrie.model import encoding as enc
from eyrie.model.encoding import Operation

TOTALS = 1  # window_totals: from the last word of a window to the take of its totals
TOTALS_STAGES = 4  # elementwise_unit: from then to the result: sum, requantizer (3)
SKID = 2  # words that write_stream holds


class Elementwise:
    """One pass; `run` returns the cycle in which its last word of the first operand is taken."""

    def __init__(self, units: Units, shape: PassShape) -> None:
        self._units, self._shape = units, shape
        self._place = 0  # of the next word in the ofmap
        self._written = -1  # cycle of the last word, which leaves as the ofmap stream takes it

    def run(self, first: int, opened: int, ofmap: int) -> int:
        """First cycles: in which the first word of the first operand can come, in which the PPU takes words, in which
        the ofmap stream does."""
        units, shape = self._units, self._shape
        self._written = ofmap - 1
        units.words.take(shape.banks_ifmap, first)
        if shape.operation == Operation.TABLE:
            for _ in range(enc.LOOKUP_WORDS):
                units.others.send(max(units.others.first(), opened))
            opened = units.others.sent + 1
        steps = self._windows if shape.window else self._one_by_one
        steps(opened)
        units.drain.end(self._written)
        return units.words.sent

    def _one_by_one(self, free: int) -> None:
        """free: the first cycle in which a word of the first operand can be taken."""
        words, others, shape = self._units.words, self._units.others, self._shape
        direct, joined = shape.operation == Operation.NONE, shape.has_operands
        free = max(free, self._written + 1) if direct else free
        for _ in shape.banks_ifmap:
            at = max(free, words.first(), others.first() if joined else 0)
            words.send(at)
            if joined:
                others.send(at)
            self._write(at + shape.stages)
            free = max(at + 1, self._written - shape.stages - SKID)

    def _windows(self, free: int) -> None:
        words, windows, shape = self._units.words, self._units.drain.tables, self._shape
        last, fed = len(shape.banks_ifmap) - 1, -1
        for n in range(last + 1):
            at = max(free, words.first())
            words.send(at)
            free = at + 1
            if (n + 1) % shape.window and n != last:
                continue
            fed = max(
                at + TOTALS,
                fed + 1,
                windows.first() if shape.operation == Operation.SUM else 0,
                self._written - TOTALS_STAGES - SKID,
            )
            if shape.operation == Operation.SUM:
                windows.send(fed)
            self._write(fed + TOTALS_STAGES)
            free = max(free, fed)

    def _write(self, at: int) -> None:
        """The next word leaves the PPU in cycle `at` at the earliest."""
        self._units.drain.marks.append(self._written)
        [mask] = self._shape.banks_ofmap[self._place]
        self._place += 1
        self._written = self._units.banks.write(max(at, self._written + 1) + ASK, mask) - ASK

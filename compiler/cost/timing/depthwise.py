# SPDX-License-Identifier: Apache-2.0
"""A depthwise pass by itself on the timeline: the depthwise half of a fused pass, whose words leave the SUPERs
through the sum chain."""

from compiler.cost.timing.fused import Fused
from compiler.cost.timing.shape import PassShape
from compiler.cost.timing.units import Begin, Units
from model.config import SET_ROWS

SENT = 1  # word_sender: to the PEs, beside the way to the chain


class Depthwise(Fused):
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        super().__init__(units, shape, begin)
        self._work = _Words(units, shape, begin.work)


class _Words:
    """In place of the pointwise work: between two groups the PEs have nothing to do, and words are drained as
    soon as they are there."""

    def __init__(self, units: Units, shape: PassShape, free: int) -> None:
        self._shape, self._drain, self._free = shape, units.drain, [free] * SET_ROWS
        self._groups_held = units.machine.word_buffer_words // shape.pixels
        self._left: list[int] = []  # of groups: when the last word left the buffer

    def interrupt(self, begins: list[int], length: int) -> None:
        """A depthwise group takes the PEs for so many cycles, by row from `begins` on at the earliest."""
        self._free = [max(free, begin) + length for free, begin in zip(self._free, begins)]

    def run_until(self, limit: int, row: int = 0) -> int:
        """The first cycle from `limit` on in which the PEs of a row are free."""
        return max(self._free[row], limit)

    def end(self) -> int:
        return max(self._free)

    def add(self, ready: int) -> None:
        """A group whose last word is there in a cycle."""
        self._left.append(self._drain.words(self._shape, ready - SENT))

    def buffer_room(self, job: int) -> int:
        """When a SUPER has room for the first word of a depthwise group."""
        return self._left[job - self._groups_held] if job >= self._groups_held else 0

# SPDX-License-Identifier: Apache-2.0
"""A depthwise pass by itself on the timeline: the depthwise half of a fused pass, whose words leave the SUPERs
through the column adder chain."""

from eyrie.compiler.cost.timing.fused import Fused
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.units import Begin, Units
from eyrie.model.config import DEPTHWISE_PIXELS, SET_ROWS

SENT = 1  # dw_broadcaster: to the PEs, beside the way to the chain


class Depthwise(Fused):
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        super().__init__(units, shape, begin)
        self._work = self._sent = _Words(units, shape, begin.work)
        self._waits = shape.pixels > DEPTHWISE_PIXELS  # pixels have to wait for sums of their own group
        self._used = DEPTHWISE_PIXELS * shape.stride if self._waits else len(self._leave)

    def _use(self, pe: int, last: list[int]) -> None:
        """Remove the words of the pixels that have a slot at once."""
        super()._use(pe, last[: self._used])

    def _band_ends(self, ends: list[int]) -> None:
        """Leave the taps to `_finish` if pixels have to wait."""
        if not self._waits:
            super()._band_ends(ends)

    def _leave_taps(self, ends: list[int]) -> None:
        super()._leave_taps(ends)
        self._sent.ended = max(ends)

    def _finish(self, job: int) -> None:
        """The pixels that had to wait follow, each when a sum has left."""
        super()._finish(job)
        if not self._waits:
            return
        shape, pops = self._shape, self._units.ifmap.pops
        cols, ends = self._units.config.cols, [0] * SET_ROWS
        for pe in self._pes:
            end = self._begun[pe] + self._late[pe][-1] + DEPTHWISE_PIXELS * self._step
            for f, gone in enumerate(self._gone[pe % cols][:-DEPTHWISE_PIXELS], DEPTHWISE_PIXELS):
                end = max(end, gone) + self._step
                pops[pe] += [end - 1] * (shape.stride if f < shape.pixels - 1 else shape.taps)
            self._ended[pe] = end
            ends[pe // cols] = max(ends[pe // cols], end)
        self._leave_taps(ends)


class _Words:
    """In place of the pointwise work: between two bands the PEs have nothing to do, and words are drained as
    soon as they are there.

    ended: the first cycle after the last band.
    """

    def __init__(self, units: Units, shape: PassShape, begin: int) -> None:
        self._shape, self._drain, self._held, self.ended = shape, units.drain, units.held, begin
        self._groups_held = units.config.word_buffer_words // shape.pixels
        self._left: list[int] = []  # of groups: when the last word left the buffer

    def interrupt(self, begins: list[int], length: int) -> None:
        """A depthwise group takes the PEs, which have nothing else to do."""

    def run_until(self, limit: int, row: int = 0) -> int:
        """The PEs are free in the first cycle."""
        return limit

    def end(self) -> int:
        return self.ended

    def add(self, ready: int) -> None:
        """A group whose last word is there in a cycle."""
        self._held.sent = self._drain.words(self._shape, ready - SENT)
        self._left.append(self._held.sent)

    def buffer_room(self, job: int) -> int:
        """When a SUPER has room for the first word of a depthwise group."""
        return self._left[job - self._groups_held] if job >= self._groups_held else 0

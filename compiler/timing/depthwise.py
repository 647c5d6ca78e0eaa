# SPDX-License-Identifier: Apache-2.0
"""A depthwise pass by itself on the timeline: the depthwise half of a fused pass, whose words leave the SUPERs
through the sum chain."""

from compiler.timing.fused import Fused
from compiler.timing.shape import PassShape
from compiler.timing.units import Begin, Units


class Depthwise(Fused):
    """One pass; `run` returns the first cycle in which the PEs have nothing to do."""

    def __init__(self, units: Units, shape: PassShape, begin: Begin) -> None:
        super().__init__(units, shape, begin)
        self._work = _Words(units, shape, begin.work)

    def run(self) -> int:
        """A group's words are written while the next group's ifmap comes, and take their banks first."""
        units, shape = self._units, self._shape
        arrived: list[dict[int, int]] = []  # by group
        pushed = [len(pops) for pops in units.ifmap.pops]
        for job in range(shape.jobs):
            if job:
                self._finish(job - 1)
            while len(arrived) < min(job + self._held, shape.jobs):
                units.front.catch_up(units.ifmap.sent)
                arrived.append(units.ifmap.send_group(shape, pushed))
            self._multiply(job, arrived[job])
        self._finish(shape.jobs - 1)
        units.depthwise_sent = self._stream
        return self._work.end()


class _Words:
    """In place of the pointwise work: between two groups the PEs have nothing to do, and words are drained as
    soon as they are there."""

    def __init__(self, units: Units, shape: PassShape, free: int) -> None:
        self._shape, self._drain, self._free = shape, units.drain, free
        self._groups_held = units.machine.word_buffer_words // shape.pixels
        self._left: list[int] = []  # of groups: when the last word left the buffer

    def interrupt(self, length: int) -> None:
        """A depthwise group takes the PE for so many cycles."""
        self._free += length

    def run_until(self, limit: int) -> int:
        """The first cycle from `limit` on in which the PE is free."""
        self._free = max(self._free, limit)
        return self._free

    def end(self) -> int:
        return self._free

    def add(self, ready: int) -> None:
        """A group whose last word is there in a cycle."""
        self._left.append(self._drain.words(self._shape, ready))

    def buffer_room(self, job: int) -> int:
        """When a SUPER has room for the first word of a depthwise group."""
        return self._left[job - self._groups_held] if job >= self._groups_held else 0

# SPDX-License-Identifier: Apache-2.0
"""The transfers that bring the constants of a group."""

from dataclasses import dataclass, field

from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.timeline import Timeline
from eyrie.compiler.plan.constants import Chunks, InTurn, WorkConstants
from eyrie.compiler.plan.filters import PLACES
from eyrie.model.config import GLB_WORD_BYTES


@dataclass
class Loader:
    """The loads of a group's constants.

    Before the first job: all constants that stay, the first chunks, and the first slices. A slice is the part of some
    constants that one job reads; turn: the number of this job, from 0. A place is the space of a slice or a chunk in
    the GLB. Each later slice or chunk is loaded when the jobs that read its place are done.
    """

    constants: WorkConstants
    timeline: Timeline
    dram: DramLayout
    _base: int = 0  # DRAM address of the chunks
    _next: int = 0
    _bases: dict[str, int] = field(default_factory=dict)  # DRAM addresses of the constants in slices

    def begin(self) -> None:
        for name, words, address in self.constants.loads:
            self.timeline.load(self.dram.constant(name, words), address, words.size)
        for each in self.constants.in_turn:
            self._bases[each.name] = self.dram.constant(each.name, each.words)
            for turn in range(PLACES):
                self._load_slice(each, turn)
        if chunks := self.constants.chunks:
            self._base = self.dram.constant(f"{self.constants.group.origin.layer}.filters", chunks.packed)
            self._load_until(chunks, chunks.slots)

    def after_jobs(self, count: int) -> None:
        """Load the slices and chunks whose places are free after the first `count` jobs."""
        for each in self.constants.in_turn:
            self._load_slice(each, count - 1 + PLACES)
        if chunks := self.constants.chunks:
            self._load_until(chunks, count * chunks.count // chunks.passes + chunks.slots)

    def _load_slice(self, constants: InTurn, turn: int) -> None:
        """Load the slice of a job, unless the group has fewer jobs."""
        if turn < constants.jobs:
            slices, words = constants.words.shape
            [(address, _)] = constants.region(turn)
            self.timeline.load(self._bases[constants.name] + turn % slices * words * GLB_WORD_BYTES, address, words)

    def _load_until(self, chunks: Chunks, last: int) -> None:
        for n in range(self._next, min(chunks.count, last)):
            self.timeline.load_chunk(
                self._base + n % chunks.different * chunks.words * GLB_WORD_BYTES, chunks.address(n), chunks.words
            )
            self._next = n + 1

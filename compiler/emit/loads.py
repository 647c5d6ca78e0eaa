# SPDX-License-Identifier: Apache-2.0
"""The transfers that bring the constants of a group."""

from dataclasses import dataclass

from compiler.emit.dram import DramLayout
from compiler.emit.timeline import Timeline
from compiler.plan.constants import WorkConstants
from model.config import GLB_WORD_BYTES


@dataclass
class Loader:
    """Loads a group's constants: all that stays and the first round of chunks before its first pass, each other chunk
    when its slot falls free."""

    constants: WorkConstants
    timeline: Timeline
    dram: DramLayout
    _base: int = 0  # DRAM address of the chunks
    _next: int = 0

    def begin(self) -> None:
        for name, words, address in self.constants.loads:
            self.timeline.load(self.dram.constant(name, words), address, words.size)
        if chunks := self.constants.chunks:
            self._base = self.dram.constant(f"{self.constants.group.layer}.filters", chunks.packed)
            self._load_until(chunks.slots)

    def finish(self, turns: int) -> None:
        """Loads the chunks whose slots fall free in the passes of so many jobs."""
        if chunks := self.constants.chunks:
            self._load_until(turns * chunks.count // chunks.passes + chunks.slots)

    def _load_until(self, last: int) -> None:
        chunks = self.constants.chunks
        for n in range(self._next, min(chunks.count, last)):
            self.timeline.load_chunk(self._base + n % chunks.different * chunks.words * GLB_WORD_BYTES,
                                     chunks.address(n), chunks.words)
            self._next = n + 1

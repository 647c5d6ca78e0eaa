# SPDX-License-Identifier: Apache-2.0
"""Buffers: GLB words with a name and a lifetime."""

from dataclasses import dataclass, field, replace

Region = list[tuple[int, int]]  # (first GLB word, words)


@dataclass(frozen=True)
class LiveRange:
    """Words of a buffer that live from time `birth` to the end of time `death`.

    A job has two times: its first tile of filters, and the other tiles.
    """

    offset: int
    words: int
    birth: int
    death: int

    @property
    def end(self) -> int:
        return self.offset + self.words


def merged(parts: list[LiveRange]) -> list[LiveRange]:
    """Return words in their order with neighbours of one lifetime together."""
    found: list[LiveRange] = []
    for part in parts:
        if found and found[-1].end == part.offset and (found[-1].birth, found[-1].death) == (part.birth, part.death):
            found[-1] = replace(found[-1], words=found[-1].words + part.words)
        else:
            found.append(part)
    return found


@dataclass
class Buffer:
    """A range of GLB words. Its parts, which never change, may have different lifetimes.

    group    the name of the fused operator; what: its feature map or its weights and quantisation parameters
    loaded   filled by transfers; space that becomes free early lets them run ahead
    chunk    words of a weight tile; tiles come one by one (0: not chunked)
    passing  number of weight tiles that pass through a circular buffer in its only job; each frees its words in turn
             (0: all stay)
    rotates  whether its first tile can come into any slot; start: the slot
    address  set by `Space.place`
    words, birth, death  of all parts together
    """

    group: str
    what: str
    parts: list[LiveRange]
    loaded: bool = False
    chunk: int = 0
    passing: int = 0
    rotates: bool = False
    start: int = 0
    address: int | None = None
    words: int = field(init=False)
    birth: int = field(init=False)
    death: int = field(init=False)

    def __post_init__(self) -> None:
        self.words = max([part.end for part in self.parts])
        self.birth = min([part.birth for part in self.parts])
        self.death = max([part.death for part in self.parts])

    @property
    def name(self) -> str:
        return f"{self.group} {self.what}"

    @property
    def placed(self) -> int:
        """Return the address, which must be set."""
        assert self.address is not None
        return self.address

    def falls_free(self, part: LiveRange) -> list[tuple[int, int, float]]:
        """Return the words of a part, (first, end), with the number of jobs after which they are free."""
        start, over = self.placed + part.offset, part.death // 2 + 1
        if not self.passing:
            return [(start, start + part.words, over)]
        slots, found = part.words // self.chunk, []
        for slot in range(slots):
            last = self.passing - 1 - (self.passing - 1 - slot + self.start) % slots  # chunk that comes there
            at = start + slot * self.chunk
            found.append((at, at + self.chunk, over - 1 + (last + 1) / self.passing))
        return found


def whole(group: str, what: str, words: int, birth: int, death: int, loaded: bool = False) -> Buffer:
    """Return a buffer whose words all have one lifetime. Their number is even, because an AXI beat may have two
    words."""
    return Buffer(group, what, [LiveRange(0, words + words % 2, birth, death)], loaded)

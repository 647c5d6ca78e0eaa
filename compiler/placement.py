"""Places buffers in the GLB: exact lifetimes, and loaded buffers where their space is free longest."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from model.config import GLB_WORD_BYTES


GRID_WORDS = 256  # addresses that are tried beside those at the edges of other buffers


class DoesNotFit(ValueError):
    """The GLB has no room; the message names demand and bound. buffer: for which there is none, if it is one."""

    buffer: "Buffer | None" = None


@dataclass(frozen=True)
class Part:
    """Words of a buffer that live from time `birth` to the end of time `death`, two times to a job: its
    first tile of filters, and the others."""

    offset: int
    words: int
    birth: int
    death: int


@dataclass
class Buffer:
    """Neighbouring GLB words with a name; parts may have lives of their own.

    loaded: filled by transfers, so that space that falls free early lets them run ahead; head: words that
    are filled first (0: all count alike). address: where `place` has put it.
    """

    name: str
    parts: list[Part]
    loaded: bool = False
    head: int = 0
    address: int | None = None

    @property
    def words(self) -> int:
        return max(part.offset + part.words for part in self.parts)

    @property
    def birth(self) -> int:
        return min(part.birth for part in self.parts)

    @property
    def death(self) -> int:
        return max(part.death for part in self.parts)


def whole(name: str, words: int, birth: int, death: int, loaded: bool = False) -> Buffer:
    """A buffer all of whose words live equally long; an even number of them, since beats may be two words."""
    return Buffer(name, [Part(0, words + words % 2, birth, death)], loaded)


@dataclass
class Space:
    """The GLB over time: which words are taken when. times: two to a job."""

    words: int
    times: int
    taken: np.ndarray = field(init=False)
    placed: list[Buffer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.taken = np.zeros((self.times, self.words), bool)

    def exposed_words(self) -> int:
        """Words to load that cannot come before the job just before the one that needs them is done."""
        return sum(buffer.head or buffer.words for buffer in self.placed
                   if buffer.loaded and 0 < buffer.birth // 2 == self._occupied_until(buffer, buffer.address) // 2 + 1)

    def place(self, buffer: Buffer, where: float = 0.0, copies: Sequence[Buffer] = ()) -> None:
        """Finds an even address for a buffer, and for copies of it at other times, and takes its words.

        Loaded buffers go where the words have been free longest, others as near as can be to `where`, from
        0, the lowest address, to 1, the highest. Raises DoesNotFit.
        """
        candidates = set().union(*(self._candidates(b) for b in (buffer, *copies)))
        fitting = [a for a in sorted(candidates) if all(self._is_free(b, a) for b in (buffer, *copies))]
        if not fitting:
            error = DoesNotFit(f"{buffer.name}: no room for {buffer.words * GLB_WORD_BYTES} bytes in the GLB "
                               f"of {self.words * GLB_WORD_BYTES}")
            error.buffer = buffer
            raise error
        if buffer.loaded:
            buffer.address = min(fitting, key=lambda a: (self._occupied_until(buffer, a), a))
        else:
            wanted = where * (self.words - buffer.words)
            buffer.address = min(fitting, key=lambda a: (abs(a - wanted), a))
        for placed in (buffer, *copies):
            placed.address = buffer.address
            self.placed.append(placed)
            for part in placed.parts:
                start = buffer.address + part.offset
                self.taken[part.birth : part.death + 1, start : start + part.words] = True

    def largest_free(self, birth: int, death: int) -> int:
        """Words of the largest piece (from an even address) that is free all this time."""
        return max((end - start for start, end in self._pieces(birth, death)), default=0)

    def _pieces(self, birth: int, death: int) -> list[tuple[int, int]]:
        busy = self.taken[birth : death + 1].any(axis=0)
        edges = np.flatnonzero(np.diff(np.concatenate([[1], busy.astype(np.int8), [1]])))
        return [(int(start + start % 2), int(end)) for start, end in edges.reshape(-1, 2)]

    def _candidates(self, buffer: Buffer) -> set[int]:
        """Addresses where a part begins or ends at an edge of what is taken during its life."""
        found = set() if buffer.loaded else set(range(0, self.words - buffer.words + 1, GRID_WORDS))
        for part in buffer.parts:
            for start, end in self._pieces(part.birth, part.death):
                found |= {start - part.offset, (end - part.words) // 2 * 2 - part.offset}
        return {a for a in found if a >= 0 and a % 2 == 0 and a + buffer.words <= self.words}

    def _is_free(self, buffer: Buffer, address: int) -> bool:
        return not any(self.taken[p.birth : p.death + 1, address + p.offset : address + p.offset + p.words].any()
                       for p in buffer.parts)

    def _occupied_until(self, buffer: Buffer, address: int) -> int:
        """The last time before the buffer's birth at which one of its words is taken, -1 if none."""
        busy = self.taken[: buffer.birth, address : address + (buffer.head or buffer.words)].any(axis=1)
        return int(np.flatnonzero(busy)[-1]) if busy.any() else -1

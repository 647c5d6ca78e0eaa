# SPDX-License-Identifier: Apache-2.0
"""Random chains of coded weights."""

from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.codes import choice
from eyrie.compiler.codes.encode import encode
from tb.common.weights import draw_weights

POOL_WORDS = 256  # of weights that a code has
MOST_WORDS = 120  # of a chunk of any length
MOST_CHUNKS = 4  # of a chain, or more than are wanted


@dataclass(frozen=True)
class Chunk:
    """Coded weights in DRAM words from `dram` on, and the words that they become. begins: a chain, with a table"""

    dram: int
    length: int
    begins: bool
    words: np.ndarray


@dataclass
class Codes:
    """Draws chains, one behind the other, into DRAM words `at` to `end`, each with a new code."""

    rng: np.random.Generator
    dram: np.ndarray
    at: int
    end: int
    _rest: list[Chunk] = field(default_factory=list)  # of the last chain

    def room(self, words: int = MOST_WORDS, count: int = 0) -> bool:
        """Return whether so many chunks of so many words have room."""
        return self.at + (count + MOST_CHUNKS) * (2 * words + 16) <= self.end

    def chunk(self) -> Chunk:
        """Return the next chunk of the last chain, or the first one of a new chain."""
        if not self._rest:
            self._draw([int(words) for words in self.rng.integers(1, MOST_WORDS + 1, self._more() + 1)])
        return self._rest.pop(0)

    def chunks(self, words: int, count: int) -> list[Chunk]:
        """Return chunks of so many words, the next ones of the last chain, or the first ones of a new chain."""
        if [chunk.words.size for chunk in self._rest[:count]] != [words] * count:
            self._draw([words] * (count + self._more()))
        found, self._rest = self._rest[:count], self._rest[count:]
        return found

    def _more(self) -> int:
        return int(self.rng.integers(MOST_CHUNKS))

    def _draw(self, words: list[int]) -> None:
        """Draw a chain of chunks that become so many words."""
        coded = None
        while not coded:  # a chunk may be too short
            pool = draw_weights(self.rng, POOL_WORDS)
            code = choice.best(pool)
            weights = [self.rng.choice(pool, 8 * count) for count in words]
            coded = encode(code, weights)
        coded[0] = np.concatenate([code.table, coded[0]])
        self._rest.clear()
        for number, chunk in enumerate(coded):
            place = self.at
            self.at += chunk.size
            self.dram[place : self.at] = chunk
            self._rest.append(Chunk(place, chunk.size, number == 0, weights[number].view("<u8")))

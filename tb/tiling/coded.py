# SPDX-License-Identifier: Apache-2.0
"""Random chunks of coded weights."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.codes import choice
from eyrie.compiler.codes.encode import encode
from eyrie.model.weight_codes import WeightCode
from tb.common.weights import draw_weights

POOL_WORDS = 256  # of weights that a code has


@dataclass(frozen=True)
class Chunk:
    """Coded weights in DRAM words from `dram` on, and the words that they become."""

    dram: int
    length: int
    with_table: bool
    words: np.ndarray


@dataclass
class Codes:
    """Draws chunks, one behind the other, into DRAM words `at` to `end`. Some begin with the table of a new code."""

    rng: np.random.Generator
    dram: np.ndarray
    at: int
    end: int
    _code: WeightCode | None = None

    def room(self, words: int) -> bool:
        """Return whether chunks that become so many words have room."""
        return self.at + 2 * words + 64 <= self.end

    def chunk(self, words: int, goes_on: bool = False) -> Chunk:
        """Return a chunk. goes_on: with the code of the chunk before"""
        with_table = self._code is None or (not goes_on and self.rng.random() < 0.4)
        if with_table:
            self._pool = draw_weights(self.rng, POOL_WORDS)
            self._code = choice.best(self._pool)
        weights = self.rng.choice(self._pool, 8 * words)
        [coded] = encode(self._code, weights[None])
        if with_table:
            coded = np.concatenate([self._code.table, coded])
        place = self.at
        self.at += coded.size
        self.dram[place : self.at] = coded
        return Chunk(place, coded.size, with_table, weights.view("<u8"))

# SPDX-License-Identifier: Apache-2.0
"""An arrangement: what the search for GLB addresses varies."""

from dataclasses import dataclass, replace

import numpy as np

from eyrie.compiler.ir.buffer import Buffer

CONSTANTS = 0.3  # of the changes concern weights and parameters
ANYWHERE = 0.7  # of the other changes: the feature map comes near to a random address
SWAPS = 0.25  # of them, which also change the order


@dataclass(frozen=True)
class Arrangement:
    """The order in which feature maps get their addresses, and the address near to which each comes.

    order  the numbers of the feature maps
    where  of each, a share of the highest address; NaN: the rule of `Space.place`
    apart  of each fused operator, whether its weights get addresses before its parameters (`Space.place`)
    """

    order: np.ndarray
    where: np.ndarray
    apart: np.ndarray

    @classmethod
    def first(cls, maps: int, groups: int) -> "Arrangement":
        """Return the arrangement that a search begins with."""
        return cls(np.arange(maps), np.full(maps, np.nan), np.zeros(groups, bool))

    def as_placed(self, maps: list[list[Buffer]], words: int) -> "Arrangement":
        """Return the arrangement with each feature map near to its present address in a GLB of so many words."""
        where = np.array([first.placed / max(words - first.words, 1) for first, *_ in maps])
        return replace(self, where=where)

    def earlier(self, n: int) -> "Arrangement":
        """Return the arrangement with feature map n, which found no room, placed before all others."""
        return replace(self, order=np.concatenate([[n], self.order[self.order != n]]))

    def turned(self, n: int) -> "Arrangement":
        """Return the arrangement with the weights and the parameters of fused operator n in the other order."""
        apart = self.apart.copy()
        apart[n] ^= True
        return replace(self, apart=apart)

    def changed(self, random: np.random.Generator, fits: bool) -> "Arrangement":
        """Return an arrangement that differs a little: in feature maps, or, if this one fits, in weights."""
        if fits and random.random() < CONSTANTS:
            return self.turned(int(random.integers(len(self.apart))))
        order, where = self.order.copy(), self.where.copy()
        places = random.integers(len(where), size=random.integers(1, 4))
        where[places] = np.where(random.random(len(places)) < ANYWHERE, random.random(len(places)), np.nan)
        if random.random() < SWAPS:
            first, second = random.integers(len(order), size=2)
            order[[first, second]] = order[[second, first]]
        return replace(self, order=order, where=where)

# SPDX-License-Identifier: Apache-2.0
"""Tests whose random draws Hypothesis makes and, where they fail, shrinks."""

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from eyrie.runtime.folders import BUILD
from tb.common.seed import run_seed

set_hypothesis_home_dir(BUILD / "hypothesis")

DIGIT = 100  # of two, which a number between 0 and 1 has: larger ranges are not drawn evenly
FEW = 24  # values of an array that are choices, each


class Choices:
    """An np.random.Generator as far as tb/common asks it. Choices shrink to the first of what there is, a chance to no,
    a real number to its upper end; large arrays are an ordinary generator's, whose seed is a choice."""

    def __init__(self, draw: Callable) -> None:
        self._draw = draw
        # Hypothesis begins with all choices 0, which would be the same at every seed: that is none.
        self._bulk = np.random.default_rng(draw(st.integers(0, 2**32 - 1).filter(bool)))

    def together(self, step: Callable[[], object]) -> object:
        """What `step` gives; its choices go together when a failure is shrunk."""
        return self._draw(st.builds(step))

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        if high is None:
            low, high = 0, low
        lows, highs = np.broadcast_arrays(low, np.asarray(high) - (not endpoint))
        shape = lows.shape if size is None else tuple(np.atleast_1d(size))
        if np.prod(shape) > FEW:
            return self._bulk.integers(low, high, size, dtype, endpoint)
        lows, highs = np.broadcast_to(lows, shape), np.broadcast_to(highs, shape)
        values = [self._draw(st.integers(int(a), int(b))) for a, b in zip(lows.flat, highs.flat, strict=True)]
        return np.array(values, dtype).reshape(shape)[()]

    def random(self, size=None):
        if size is not None and np.prod(size) > FEW:
            return self._bulk.random(size)
        return 1 - self._part(size) - 1 / DIGIT**2

    def _part(self, size):
        """From 0 to less than 1, choices that shrink to 0."""
        return (self.integers(DIGIT, size=size) + self.integers(DIGIT, size=size) / DIGIT) / DIGIT

    def uniform(self, low=0.0, high=1.0, size=None):
        return low + (high - low) * self.random(size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._bulk.normal(loc, scale, size)

    def choice(self, a: Sequence | np.ndarray | int, size=None, replace=True, p=None):
        among = np.arange(a) if isinstance(a, int) else np.asarray(a)
        if not replace:
            return among[self.permutation(len(among))[:size]]
        if p is None:
            return among[self.integers(len(among), size=size)]
        places = np.searchsorted(np.cumsum(p), self._part(size), side="right")
        return among[np.minimum(places, len(among) - 1)]

    def permutation(self, x):
        among = np.arange(x) if isinstance(x, int | np.integer) else np.asarray(x)
        if len(among) > FEW:
            return self._bulk.permutation(among)
        return among[list(self._draw(st.permutations(range(len(among)))))]


def shrinking(number: int, strategy: st.SearchStrategy, check: Callable, shrink: bool = True) -> None:
    """Has `check` look at draw `number` of the run's seed, which depends on no other draw. One that fails is shrunk, if
    that is asked for, and printed."""
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    once = settings(
        max_examples=1,
        deadline=None,
        database=None,
        print_blob=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    try:
        seed(run_seed() * 1_000_000 + number)(once(given(strategy)(lambda drawn: check(drawn))))()
    except BaseException as error:
        error.add_note(f"draw {number} of seed {run_seed()}")
        raise

# SPDX-License-Identifier: Apache-2.0
"""Random weights, and special cases of their codes."""

from collections.abc import Callable

import numpy as np

from eyrie.compiler.codes.choice import Span, coded
from eyrie.model.weight_codes import EXTRA_BITS, WeightCode, number_of


def draw_weights(rng: np.random.Generator, words: int) -> np.ndarray:
    """Draw int8 weights, of a narrow, wide, sparse or flat distribution."""
    spread = float(np.exp(rng.uniform(-2, 5)))
    draw: Callable = rng.choice([rng.normal, rng.laplace])
    centre = rng.choice([0, rng.uniform(-128, 128)])
    weights = np.clip(np.rint(draw(centre, spread, 8 * words)), -128, 127).astype(np.int8)
    weights[rng.random(weights.size) < rng.choice([0, 0, rng.random()])] = 0
    return weights


def packed(weights: np.ndarray) -> WeightCode:
    """Return the code with the same number of bits for each weight."""
    spans = _equal(int(number_of(weights).max()).bit_length())
    return coded([(len(spans).bit_length() - 1, span) for span in spans])


def bitmask(weights: np.ndarray) -> WeightCode:
    """Return the code with a bit that tells whether a weight is zero, and 8 bits more of one that is not."""
    others = _equal(8)
    return coded([(1, (0, 0)), *((len(others).bit_length(), span) for span in others)])


def _equal(bits: int) -> list[Span]:
    """Return the spans of weights of so many bits, as few as there can be."""
    extra = min(bits, EXTRA_BITS)
    return [(base, extra) for base in range(0, 1 << bits, 1 << extra)]

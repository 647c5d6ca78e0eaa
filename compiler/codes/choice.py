# SPDX-License-Identifier: Apache-2.0
"""The choice of a code for weights."""

from operator import itemgetter

import numpy as np

from eyrie.compiler.codes.blocks import blocks_of, rests_in
from eyrie.model.encoding import CODE_CLASSES
from eyrie.model.weight_codes import EXTRA_BITS, PREFIX_BITS, REST, WeightClass, WeightCode, number_of

NUMBERS = 256  # of int8 weights
REST_WEIGHTS = 2  # of a rest at least
REST_SHARE = 0.2  # of the weights at least, in rests, for a code with rests
Span = tuple[int, int]  # base and extra bits of a class


def histogram(weights: np.ndarray, centre: int = 0) -> np.ndarray:
    """Count int8 weights by their numbers in a code with this centre."""
    return np.bincount(number_of(weights.ravel(), centre), minlength=NUMBERS)


def entropy_bits(counts: np.ndarray) -> float:
    """Return the least bits of all weights if each is coded by itself (Shannon, 1948)."""
    used = counts[counts > 0]
    return float(-(used * np.log2(used / used.sum())).sum())


def best(weights: np.ndarray) -> WeightCode:
    """Return a code with few bits for int8 weights, around 0 or their median, with rests of it or without."""
    found, (blocks, active) = list[tuple[int, WeightCode]](), blocks_of([weights])
    for centre in sorted({0, int(np.median(weights))}):
        found.append(_around(centre, histogram(weights, centre)))
        rest, last = rests_in(blocks == centre, active, REST_WEIGHTS)
        if rest.sum() > REST_SHARE * weights.size and (others := blocks[active & ~rest]).size:
            counts = histogram(others, centre)
            counts[0] = max(counts[0], 1)  # where a rest would be too short
            found.append(_around(centre, counts, int(last.sum())))
    return min(found, key=itemgetter(0))[1]


def _around(centre: int, counts: np.ndarray, rests: int = 0) -> tuple[int, WeightCode]:
    """Return the fewest bits for weights with a histogram, and for so many rests, and a code that has them.

    Dynamic programming, from the last number to the first: the fewest bits of the weights from a number on, in so many
    classes whose prefixes fill so much of 2**PREFIX_BITS.
    """
    last, space = int(np.flatnonzero(counts)[-1]), 1 << PREFIX_BITS
    extra, length = np.indices((EXTRA_BITS + 1, PREFIX_BITS + 1)).reshape(2, -1)
    left = np.arange(space + 1) - (space >> length)[:, None]  # of the space, after a class; below 0 it does not fit
    bits = np.full((CODE_CLASSES + 1, last + 2, space + 2), np.inf)  # classes, number, space
    chosen = np.full(bits.shape, -1)  # extra and length; -1: no class has the number
    bits[0, last + 1, 0] = 0
    total = np.concatenate([[0], np.cumsum(counts)])
    for base in range(last, -1, -1):
        behind = np.minimum(base + (1 << extra), last + 1)
        own = (total[behind] - total[base]) * (length + extra)
        found = bits[:-1, behind[:, None], np.maximum(left, -1)] + own[:, None]
        chosen[1:, base, :-1] = found.argmin(axis=1)
        bits[1:, base, :-1] = found.min(axis=1)
        if not counts[base]:
            skips = bits[:, base + 1] <= bits[:, base]
            bits[:, base][skips], chosen[:, base][skips] = bits[:, base + 1][skips], -1
    prefix = np.arange(1, PREFIX_BITS + 1) if rests else np.zeros(1, int)
    spaces = space - (space >> prefix) if rests else np.array([space])
    ends = bits[: CODE_CLASSES if rests else CODE_CLASSES + 1, 0, spaces] + rests * prefix
    classes, at = divmod(int(ends.argmin()), len(prefix))
    found = _classes(chosen, extra, length, classes, int(spaces[at]))
    return int(ends.min()), coded(found + [(int(prefix[at]), (0, REST))] * bool(rests), centre)


def _classes(
    chosen: np.ndarray, extra: np.ndarray, length: np.ndarray, classes: int, space: int
) -> list[tuple[int, Span]]:
    """Return the prefix bits and the spans of so many classes that were chosen for all weights, in so much space."""
    found, base = list[tuple[int, Span]](), 0
    while classes:
        at = chosen[classes, base, space]
        if at < 0:
            base += 1
        else:
            found.append((int(length[at]), (base, int(extra[at]))))
            base += 1 << int(extra[at])
            space -= 1 << PREFIX_BITS - int(length[at])
            classes -= 1
    return found


def coded(classes: list[tuple[int, Span]], centre: int = 0) -> WeightCode:
    """Return the code with these lengths of prefixes."""
    found, first = list[WeightClass](), 0
    for length, (base, extra) in sorted(classes):
        found.append(WeightClass(first, length, extra, base))
        first += 1 << PREFIX_BITS - length
    return WeightCode(tuple(found), centre)

# SPDX-License-Identifier: Apache-2.0
"""The choice of a code for weights."""

from itertools import accumulate
from math import inf, log2
from operator import mul

import numpy as np

from eyrie.model.encoding import CODE_CLASSES
from eyrie.model.weight_codes import EXTRA_BITS, PREFIX_BITS, WeightClass, WeightCode, number_of

NUMBERS = 256  # of int8 weights
Span = tuple[int, int]  # base and extra bits of a class


def histogram(weights: np.ndarray) -> np.ndarray:
    """Count int8 weights by their numbers."""
    return np.bincount(number_of(weights.ravel()), minlength=NUMBERS)


def entropy_bits(counts: np.ndarray) -> float:
    """Return the least bits of all weights if each is coded by itself (Shannon, 1948)."""
    used = counts[counts > 0]
    return float(-(used * np.log2(used / used.sum())).sum())


def coded_bits(code: WeightCode, counts: np.ndarray) -> int:
    """Return the bits of all weights in a code that has all of them."""
    return sum(_within(counts, each.base, each.extra) * (each.length + each.extra) for each in code.classes)


def best(counts: np.ndarray) -> WeightCode:
    """Return a code with few bits for weights with a histogram.

    For each number of classes, those are taken that are best with prefixes of ideal length (dynamic programming), and
    then the best prefixes for them.
    """
    codes = [coded(spans, [_within(counts, *span) for span in spans]) for spans in _divisions(counts)]
    return min(codes, key=lambda code: coded_bits(code, counts))


def coded(spans: list[Span], counts: list[int]) -> WeightCode:
    """Return the code with the best prefixes for classes, which have `counts` weights."""
    classes, first = list[WeightClass](), 0
    ranked = sorted(range(len(spans)), key=lambda n: -counts[n])
    for length, n in zip(_lengths([counts[n] for n in ranked]), ranked):
        base, extra = spans[n]
        classes.append(WeightClass(first, length, extra, base))
        first += 1 << PREFIX_BITS - length
    return WeightCode(tuple(classes))


def _lengths(counts: list[int]) -> list[int]:
    """Return the ascending lengths of the best complete prefix code for descending counts: all codes are tried, since
    the prefixes of Huffman's may be too long."""
    codes = _complete(len(counts), 0, 1 << PREFIX_BITS)
    return min(codes, key=lambda lengths: sum(map(mul, lengths, counts)))


def _complete(symbols: int, least: int, space: int) -> list[list[int]]:
    """Return the ascending lengths, from `least` on, of all codes whose prefixes fill `space` of 2**PREFIX_BITS."""
    if not symbols:
        return [] if space else [[]]
    found = list[list[int]]()
    for length in range(least, PREFIX_BITS + 1):
        taken = 1 << PREFIX_BITS - length
        if symbols <= space and taken <= space <= symbols * taken:
            found += [[length, *rest] for rest in _complete(symbols - 1, length, space - taken)]
    return found


def _within(counts: np.ndarray, base: int, extra: int) -> int:
    return int(counts[base : base + (1 << extra)].sum())


def _divisions(counts: np.ndarray) -> list[list[Span]]:
    """Return the best classes, for each number of them, that cover all weights that occur; without empty ones."""
    last, total = int(np.flatnonzero(counts)[-1]), int(counts.sum())
    below = [0, *accumulate(counts.tolist())]

    def bits(base: int, extra: int) -> float:
        found = below[min(base + (1 << extra), NUMBERS)] - below[base]
        return found * (extra - log2(found / total)) if found else 0.0

    least, chosen = [[inf] * (last + 1)], [[0] * (last + 1)]  # by the classes and the first weight that they cover
    for classes in range(1, CODE_CLASSES + 1):
        least.append([inf] * (last + 1))
        chosen.append([0] * (last + 1))
        for base in range(last + 1):
            for extra in range(EXTRA_BITS + 1):
                end = base + (1 << extra)
                cost = bits(base, extra) + (0.0 if end > last else least[classes - 1][end])
                if cost < least[classes][base]:
                    least[classes][base], chosen[classes][base] = cost, extra
    found = list[list[Span]]()
    for classes in range(1, CODE_CLASSES + 1):
        if least[classes][0] < inf:
            spans, base = list[Span](), 0
            for left in range(classes, 0, -1):
                if base <= last:
                    spans.append((base, chosen[left][base]))
                    base += 1 << chosen[left][base]
            found.append([span for span in spans if _within(counts, *span)])
    return found

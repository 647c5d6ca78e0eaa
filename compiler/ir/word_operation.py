# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations of the vector unit (docs/hardware/ppu.md), as layers use them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.ir.feature_map import words_of
from eyrie.model import encoding as enc
from eyrie.model.encoding import Operation
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Requantization

AS_IS = {"multiplier": 1 << 30, "shift": 1}  # of an operation's result: a factor of 1
INT8 = {"act_min": INT8_MIN, "act_max": INT8_MAX}


@dataclass(frozen=True)
class WordOperation:
    """An elementwise operation of the vector unit, and its fields: encoding.PPU_FIRST, PPU_SECOND, PPU_RESULT.

    constants: uint64. TABLE has the words of its 256 entries. SUM has a word for each window, and other operations have
    the words of the second operand, if it is not a feature map: [rows, columns, groups], with broadcast of size 1.
    """

    kind: Operation
    first: Mapping[str, int] = field(default_factory=dict)
    second: Mapping[str, int] = field(default_factory=dict)
    result: Mapping[str, int] = field(default_factory=dict)
    constants: np.ndarray | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.kind.name.lower()

    @property
    def constant_words(self) -> int:
        return 0 if self.constants is None else self.constants.size


def copy() -> WordOperation:
    """Return the operation that copies words."""
    return WordOperation(Operation.NONE)


def larger() -> WordOperation:
    """Return the maximum of two values of one scale."""
    return WordOperation(Operation.MAXIMUM, result=AS_IS | INT8)


def lookup(entries: np.ndarray) -> WordOperation:
    """Return the table lookup. entries: int8 [256], the result of q at q + 128"""
    return WordOperation(Operation.TABLE, constants=words_of(entries.reshape(-1, 8)))


def largest_of_window(taps: int, minimum: int = INT8_MIN, maximum: int = INT8_MAX) -> WordOperation:
    """Return the maximum of `taps` values, clamped."""
    clamp = {"act_min": minimum, "act_max": maximum}
    return WordOperation(Operation.MAXIMUM, {"window": taps}, result=AS_IS | clamp)


def average_of_window(
    counts: np.ndarray, taps: int, minimum: int = INT8_MIN, maximum: int = INT8_MAX, ties_up: bool = False
) -> WordOperation:
    """Return the average of the pixels of a window that are inside the map, the others being 0.

    counts: int [E, F], how many those are, at most 2,896; a tie goes away from zero, or up.
    """
    if (counts == counts.flat[0]).all():
        counts = counts[:1, :1]  # all alike
    bias = -INT8_MIN if ties_up else 0  # sums of values that are not negative go up
    words = [enc.WINDOW.pack(bias=bias * int(count), **average_factor(int(count))) for count in counts.flat]
    result = {"zero_point": -bias, "act_min": minimum, "act_max": maximum}
    return WordOperation(
        Operation.SUM, {"window": taps}, result=result, constants=np.array(words, np.uint64).reshape(*counts.shape, 1)
    )


def sum_of_window(count: int, zero_point: int, scaling: Requantization) -> WordOperation:
    """Return the sum of `count` values less their zero point, requantised."""
    word = enc.WINDOW.pack(multiplier=int(scaling.multiplier), shift=int(scaling.shift), bias=-zero_point * count)
    result = {"zero_point": int(scaling.zero_point), "act_min": int(scaling.minimum), "act_max": int(scaling.maximum)}
    return WordOperation(Operation.SUM, {"window": count}, result=result, constants=np.full((1, 1, 1), word, np.uint64))


def average_factor(count: int) -> dict[str, int]:
    """Return multiplier and shift of a SUM that averages `count` values, exact up to 2,896."""
    return dict(AS_IS) if count == 1 else {"multiplier": (1 << 31) // count + 1, "shift": 0}

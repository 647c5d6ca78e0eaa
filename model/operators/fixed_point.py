# SPDX-License-Identifier: Apache-2.0
"""Functions of fixed-point numbers as gemmlowp computes them, bit for bit.

Numbers are int64 arrays of int32 values; Qm has m integer bits, 31 - m fraction bits and a sign. Source: gemmlowp
fixedpoint/fixedpoint.h, and `GetReciprocal` in tensorflow/lite/kernels/internal/common.h.
"""

import numpy as np
from numpy.typing import ArrayLike

from eyrie.model.arithmetic import INT32_MAX, INT32_MIN, rounding_divide_by_pot, wrap_int32
from eyrie.model.arithmetic import saturating_rounding_doubling_high_mul as _times

_ONE = INT32_MAX  # 1 in Q0, as near as it comes
_EXP_OF_MINUS_EIGHTH, _THIRD = 1895147668, 715827883  # Q0
_48_OVER_17, _MINUS_32_OVER_17 = 1515870810, -1010580540  # Q2
# exp(-2^k) in Q0, k from -2 to 4
_EXP_OF_POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401, 4: 242}


def shift_left_saturating(x: ArrayLike, exponent: np.ndarray | int) -> np.ndarray:
    """Return x * 2^exponent, held in int32."""
    return np.clip(np.asarray(x, np.int64) << exponent, INT32_MIN, INT32_MAX)


def _exp_below_zero_above_minus_quarter(a: np.ndarray) -> np.ndarray:
    """Return exp, in Q0, of Q0 numbers in [-1/4, 0)."""
    x = a + (1 << 28)  # around -1/8
    square = _times(x, x)
    fourth = rounding_divide_by_pot(_times(square, square), 2)
    tail = rounding_divide_by_pot(_times(fourth + _times(square, x), _THIRD) + square, 1)
    return _EXP_OF_MINUS_EIGHTH + _times(_EXP_OF_MINUS_EIGHTH, x + tail)


def exp_on_negative_values(a: ArrayLike, integer_bits: int) -> np.ndarray:
    """Return exp, in Q0, of numbers up to 0 in Q`integer_bits` (at most 5)."""
    a = np.asarray(a, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    part = (a & (quarter - 1)) - quarter  # in [-1/4, 0)
    result = _exp_below_zero_above_minus_quarter(shift_left_saturating(part, integer_bits))
    rest = part - a
    for exponent, factor in _EXP_OF_POWERS.items():
        if integer_bits > exponent:
            result = np.where(rest & (1 << (fraction_bits + exponent)), _times(result, factor), result)
    return np.where(a == 0, _ONE, result)


def _half_of_sum(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
    """Return (a + b) / 2, ties away from zero."""
    total = np.asarray(a, np.int64) + b
    return np.sign(total) * ((np.abs(total) + 1) >> 1)


def _two_over_one_plus(a: np.ndarray) -> np.ndarray:
    """Return 2 / (1 + x), in Q2, of Q0 numbers from 0 to 1, by Newton and Raphson's method."""
    half_denominator = _half_of_sum(a, _ONE)
    x = _48_OVER_17 + _times(half_denominator, _MINUS_32_OVER_17)
    for _ in range(3):
        missing = (1 << 29) - _times(half_denominator, x)
        x = x + shift_left_saturating(_times(x, missing), 2)
    return x


def logistic(a: ArrayLike, integer_bits: int) -> np.ndarray:
    """Return 1 / (1 + exp(-a)), in Q0, of numbers in Q`integer_bits`."""
    a = np.asarray(a, np.int64)
    of_positive = shift_left_saturating(_two_over_one_plus(exp_on_negative_values(-np.abs(a), integer_bits)), 1)
    return np.where(a == 0, 1 << 30, np.where(a > 0, of_positive, _ONE - of_positive))


def tanh(a: ArrayLike, integer_bits: int) -> np.ndarray:
    """Return tanh, in Q0, of numbers in Q`integer_bits`."""
    a = np.asarray(a, np.int64)
    squared = exp_on_negative_values(-np.abs(a), integer_bits + 1)  # the same bits, read as twice the number
    of_positive = shift_left_saturating(_two_over_one_plus(squared) - (1 << 29), 2)
    return np.where(a == 0, 0, np.sign(a) * of_positive)


def reciprocal(x: ArrayLike, integer_bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `(y, bits)`: 1 / x is y in Q0, shifted right by `bits`; x is positive, in Q`integer_bits`."""
    x = np.asarray(x, np.int64)
    headroom = 32 - np.frexp(x.astype(np.float64))[1]  # leading zeros
    fraction = wrap_int32((x << headroom) - (1 << 31))
    return shift_left_saturating(_two_over_one_plus(fraction), 1), integer_bits - headroom

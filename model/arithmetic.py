# SPDX-License-Identifier: Apache-2.0
"""Fixed-point arithmetic of TensorFlow Lite's reference int8 kernels, bit for bit, vectorised.

Everything above (operators, array model, compiler) rescales through this file, so its rounding is
the accelerator's rounding. All functions take scalars or arrays, broadcast as NumPy does, compute in
int64 and return int64 holding int32 values.

Sources: the TensorFlow Lite 8-bit quantization specification; tensorflow/lite/kernels/internal/
common.h and quantization_util.cc; gemmlowp fixedpoint/fixedpoint.h. The kernels are those built
without TFLITE_SINGLE_ROUNDING: a product is rounded twice, once at bit 31 and once at the shift.
"""

import numpy as np
from numpy.typing import ArrayLike

from eyrie.model.errors import InputError

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
MAX_LEFT_SHIFT = 30  # the reference computes `1 << shift` in int32


def saturating_rounding_doubling_high_mul(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Return the high half of 2*a*b, i.e. a*b / 2^31 rounded to nearest.

    `a` and `b` are int32 values. Only INT32_MIN * INT32_MIN leaves int32; it gives INT32_MAX.
    Source: gemmlowp `SaturatingRoundingDoublingHighMul`.
    """
    product = np.multiply(a, b, dtype=np.int64)
    # gemmlowp adds 2^30 or 1 - 2^30 by sign and divides towards zero. One floor shift does the
    # same: for a negative product the two differ by exactly 2^31 - 1 before the division.
    return np.minimum((product + (1 << 30)) >> 31, INT32_MAX)


def rounding_divide_by_pot(x: ArrayLike, exponent: ArrayLike) -> np.ndarray:
    """Return x / 2^exponent rounded to nearest, ties away from zero.

    `x` is int32, `exponent` 0 to 31. Source: gemmlowp `RoundingDivideByPOT`.
    """
    x = np.asarray(x, np.int64)
    exponent = np.asarray(exponent, np.int64)
    half = (1 << exponent) >> 1
    # A tie of a negative number rounds down, hence the one less. With exponent 0 no result is a tie.
    tie = (x >> 63) & -(exponent > 0).astype(np.int64)
    return (x + half + tie) >> exponent


def multiply_by_quantized_multiplier(x: ArrayLike, multiplier: ArrayLike, shift: ArrayLike) -> np.ndarray:
    """Return x * multiplier * 2^(shift - 31), rounded twice as the reference does.

    `x` is int32, `multiplier` a Q31 number in [2^30, 2^31) or 0, `shift` -31 to 30. A positive
    shift is applied to `x` before the product. The reference leaves the overflow of that shift
    undefined; here it wraps to int32, as its x86 builds and two's complement hardware do.
    Source: `MultiplyByQuantizedMultiplier` in tensorflow/lite/kernels/internal/common.h.
    """
    shift = np.asarray(shift, np.int64)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    if np.any(left):
        x = wrap_int32(np.asarray(x, np.int64) << left)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(x, multiplier), right)


def table_entries(multiplier: ArrayLike, shift: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return `(multiplier, shift)` as the accelerator reads them from any int32 multiplier and int8 shift: int64.

    The accelerator reads a multiplier without its sign bit, and a shift in either direction with five bits: 0 to 31.
    Entries that the compiler writes do not change.
    """
    multiplier, shift = np.asarray(multiplier, np.int64), np.asarray(shift, np.int64)
    return multiplier & INT32_MAX, np.sign(shift) * (np.abs(shift) & 31)


def wrap_int32(x: ArrayLike) -> np.ndarray:
    """Wrap `x` to int32: the signed value of its low 32 bits."""
    return ((np.asarray(x, np.int64) + 2**31) & 0xFFFFFFFF) - 2**31


def quantize_multiplier(real: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Split non-negative real factors into `(multiplier, shift)`, both int32 arrays like `real`.

    real is about multiplier * 2^(shift - 31) with a multiplier in [2^30, 2^31). Factors below
    2^-32 become (0, 0). Raise InputError for a factor that is negative, not finite, or so large
    that the reference's left shift does not exist. Source: `QuantizeMultiplier` in
    tensorflow/lite/kernels/internal/quantization_util.cc.
    """
    real = np.asarray(real, np.float64)
    if not np.all(np.isfinite(real) & (real >= 0)):
        raise InputError(f"scale factors are finite and not negative, got {real}")
    fraction, shift = np.frexp(real)
    multiplier = np.floor(fraction * 2**31 + 0.5).astype(np.int64)  # std::round of a positive
    carried = multiplier == 2**31
    multiplier, shift = np.where(carried, 2**30, multiplier), shift + carried
    vanished = shift < -31
    multiplier, shift = np.where(vanished, 0, multiplier), np.where(vanished, 0, shift)
    if np.any(shift > MAX_LEFT_SHIFT):
        raise InputError(f"scale factor {real.max()} needs a left shift of more than {MAX_LEFT_SHIFT}")
    return multiplier.astype(np.int32), shift.astype(np.int32)


def round_away(real: ArrayLike) -> np.ndarray:
    """Return float32 or float64 `real` rounded to nearest, ties away from zero, as int64. Source: std::round."""
    real = np.asarray(real, np.float64)
    return np.copysign(np.floor(np.abs(real) + 0.5), real).astype(np.int64)


def rounding_average(total: ArrayLike, count: ArrayLike) -> np.ndarray:
    """Return total / count rounded to nearest, ties away from zero; `count` is positive.

    Source: `AveragePool` in tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h.
    """
    total = np.asarray(total, np.int64)
    return np.sign(total) * ((np.abs(total) + np.asarray(count) // 2) // count)


MAX_MULTIPLIED_COUNT = 2896  # the largest n with 128 * n * n below 2^30


def average_multiplier(count: int) -> tuple[int, int]:
    """Return the `(multiplier, shift)` that rescale a sum of `count` int8 values to rounding_average(sum, count).

    The multiplier is a little over 2^31 / count, so that every tie rounds away from zero. Every other quotient is at
    least 1 / (2 * count) away from a tie, which the excess never reaches.

    uint8 kernels round ties up. A sum of `count` uint8 values is never negative, so that the same factor works for up
    to 2048 of them (a bias of 128 * count turns a sum of int8 values into one of uint8 values).

    Raise InputError for counts other than 1 to 2896.
    """
    if not 1 <= count <= MAX_MULTIPLIED_COUNT:
        raise InputError(f"an average by multiplication is over 1 to {MAX_MULTIPLIED_COUNT} pixels, got {count}")
    return (1 << 30, 1) if count == 1 else ((1 << 31) // int(count) + 1, 0)


AVERAGE_FRACTION_BITS = 17  # of the reciprocal, before the shift that follows from the count
MAX_AVERAGE_COUNT = 1024


def average_reciprocal(count: int) -> tuple[int, int]:
    """Return `(reciprocal, shift)`, with which the accelerator divides by `count`, 1 to 1024.

    (x * reciprocal) >> (17 + shift) equals x // count for every x from 0 to 128 * count + count // 2,
    the largest magnitude (rounding included) of a sum of `count` int8 values; the tests try them
    all. reciprocal is in [2^17, 2^18) and shift is 0 to 10. Raise InputError for other counts.
    """
    if not 1 <= count <= MAX_AVERAGE_COUNT:
        raise InputError(f"an average is over 1 to {MAX_AVERAGE_COUNT} pixels, got {count}")
    shift = (int(count) - 1).bit_length()
    return -(-(1 << (AVERAGE_FRACTION_BITS + shift)) // int(count)), shift

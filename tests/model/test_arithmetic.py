# SPDX-License-Identifier: Apache-2.0
"""Fixed-point arithmetic against the reference's formulas, transcribed one scalar at a time."""

import math
from fractions import Fraction

import numpy as np
import pytest

from eyrie.model import arithmetic
from tb.common.seed import run_seed

SEED = run_seed()
SAMPLES = 4000
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
CORNERS = [0, 1, -1, 2, -2, 3, -3, 2**30, -(2**30), INT32_MAX - 1, INT32_MAX]
CORNERS += [INT32_MIN + 1, INT32_MIN]


def draw_int32(rng):
    """Corners, then int32 values of every magnitude: uniform ones alone are all huge."""
    values = rng.integers(INT32_MIN, INT32_MAX, SAMPLES, endpoint=True)
    return np.concatenate([CORNERS, values >> rng.integers(0, 32, SAMPLES)])


def c_divide(a, b):
    """Divide as C does, towards zero."""
    return abs(a) // b * (1 if a >= 0 else -1)


def high_mul(a, b):
    if a == b == INT32_MIN:
        return INT32_MAX
    nudge = 2**30 if a * b >= 0 else 1 - 2**30
    return c_divide(a * b + nudge, 2**31)


def divide_by_pot(x, exponent):
    mask = (1 << exponent) - 1
    threshold = (mask >> 1) + (1 if x < 0 else 0)
    return (x >> exponent) + (1 if (x & mask) > threshold else 0)


def multiply(x, multiplier, shift):
    shifted = (x << max(shift, 0)) & 0xFFFFFFFF
    shifted -= 2**32 if shifted > INT32_MAX else 0
    return divide_by_pot(high_mul(shifted, multiplier), max(-shift, 0))


def assert_equal_everywhere(got, expected):
    assert len(expected) >= SAMPLES
    np.testing.assert_array_equal(got, expected, err_msg=f"EYRIE_SEED={SEED}")


def test_high_mul_equals_the_reference():
    rng = np.random.default_rng(SEED)
    a, b = draw_int32(rng), rng.permutation(draw_int32(rng))
    expected = [high_mul(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert_equal_everywhere(arithmetic.saturating_rounding_doubling_high_mul(a, b), expected)


def test_high_mul_saturates_its_only_overflow():
    pairs = [(a, b) for a in CORNERS for b in CORNERS]
    got = arithmetic.saturating_rounding_doubling_high_mul(*np.transpose(pairs))
    assert got.tolist() == [high_mul(a, b) for a, b in pairs]
    assert got.max() == INT32_MAX


@pytest.mark.parametrize("exponent", [0, 1, 2, 7, 15, 30, 31])
def test_divide_by_pot_equals_the_reference(exponent):
    x = draw_int32(np.random.default_rng(SEED))
    expected = [divide_by_pot(int(value), exponent) for value in x]
    assert_equal_everywhere(arithmetic.rounding_divide_by_pot(x, exponent), expected)


def test_ties_divide_away_from_zero():
    quarters = arithmetic.rounding_divide_by_pot([-6, -5, -2, 2, 5, 6], 2)
    assert quarters.tolist() == [-2, -1, -1, 1, 1, 2]


def test_multiply_equals_the_reference():
    rng = np.random.default_rng(SEED)
    x = draw_int32(rng)
    multiplier = rng.integers(2**30, INT32_MAX, len(x), endpoint=True)
    shift = rng.integers(-31, 30, len(x), endpoint=True)
    expected = [multiply(*map(int, row)) for row in zip(x, multiplier, shift, strict=True)]
    got = arithmetic.multiply_by_quantized_multiplier(x, multiplier, shift)
    assert_equal_everywhere(got, expected)
    assert np.count_nonzero((shift > 0) & (got != 0)) > 100


def test_multiply_rounds_twice():
    # 1 * 0.75 / 2 is 0.375. Its first rounding gives 1, the second makes 1 / 2 a 1; once gives 0.
    multiplier = 3 * 2**29
    assert arithmetic.multiply_by_quantized_multiplier(1, multiplier, -1) == 1
    assert (multiplier + 2**31) >> 32 == 0


def test_left_shift_wraps():
    assert arithmetic.multiply_by_quantized_multiplier(2**30, 2**30, 1) == -(2**30)


def test_quantized_multiplier_is_nearest():
    rng = np.random.default_rng(SEED)
    real = np.exp(rng.uniform(math.log(2**-31), math.log(2**29), SAMPLES))
    multiplier, shift = arithmetic.quantize_multiplier(real)
    assert multiplier.dtype == shift.dtype == np.int32
    assert multiplier.min() >= 2**30
    for value, m, s in zip(real, multiplier, shift, strict=True):
        error = abs(Fraction(float(value)) / Fraction(2) ** (int(s) - 31) - int(m))
        assert error <= Fraction(1, 2), f"{value!r} -> {m}, {s}"


@pytest.mark.parametrize(
    ("real", "multiplier", "shift"),
    [
        (0.0, 0, 0),
        (0.5, 2**30, 0),
        (1.0, 2**30, 1),
        (1 - 2**-33, 2**30, 1),  # rounds up to 2^31 and is carried into the shift
        (0.5 + 2**-32, 2**30 + 1, 0),  # a tie rounds away from zero
        (2.0**-32, 2**30, -31),
        (2.0**-33, 0, 0),  # the shift would be -32
        (2.0**29, 2**30, 30),
    ],
)
def test_quantized_multiplier_corner(real, multiplier, shift):
    assert arithmetic.quantize_multiplier(real) == (multiplier, shift)


@pytest.mark.parametrize(
    ("real", "message"),
    [
        (-0.5, "scale factors are finite and not negative, got -0.5"),
        (math.nan, "scale factors are finite and not negative, got nan"),
        (2.0**30, "scale factor 1073741824.0 needs a left shift of more than 30"),
    ],
)
def test_quantized_multiplier_rejects(real, message):
    with pytest.raises(ValueError) as error:
        arithmetic.quantize_multiplier(real)
    assert str(error.value) == message


def test_rounding_average_equals_the_reference():
    rng = np.random.default_rng(SEED)
    count = rng.integers(1, 50, SAMPLES)
    total = rng.integers(-128 * count, 127 * count, endpoint=True)
    expected = [
        c_divide(t + n // 2 if t > 0 else t - n // 2, n) for t, n in zip(total.tolist(), count.tolist(), strict=True)
    ]
    assert_equal_everywhere(arithmetic.rounding_average(total, count), expected)


def test_average_reciprocal_divides_every_sum():
    """Every magnitude that a sum of `count` int8 values can have, rounding included."""
    for count in range(1, arithmetic.MAX_AVERAGE_COUNT + 1):
        reciprocal, shift = arithmetic.average_reciprocal(count)
        x = np.arange(128 * count + count // 2 + 1)
        quotient = (x * reciprocal) >> (arithmetic.AVERAGE_FRACTION_BITS + shift)
        assert np.array_equal(quotient, x // count), count
        assert 2**17 <= reciprocal < 2**18 and 0 <= shift <= 10


@pytest.mark.parametrize("count", [0, 1025])
def test_average_reciprocal_rejects(count):
    with pytest.raises(ValueError) as error:
        arithmetic.average_reciprocal(count)
    assert str(error.value) == f"an average is over 1 to 1024 pixels, got {count}"


def average(total, count):
    """As the reference's C does: half the count towards the sign, then a division towards zero."""
    moved = np.where(total > 0, total + count // 2, total - count // 2)
    return np.trunc(moved / count).astype(np.int64)


def test_average_multiplier_divides_every_sum():
    """Every sum that `count` int8 values can have, to 1,024 of them; beyond, those nearest to a tie."""
    for count in range(1, 1025):
        sums = np.arange(-128 * count, 127 * count + 1)
        got = arithmetic.multiply_by_quantized_multiplier(sums, *arithmetic.average_multiplier(count))
        assert np.array_equal(got, average(sums, count)), count
    rng = np.random.default_rng(SEED)
    for count in (*rng.integers(1025, arithmetic.MAX_MULTIPLIED_COUNT, 300), arithmetic.MAX_MULTIPLIED_COUNT):
        ties = np.arange(-128, 128) * count + count // 2
        sums = np.clip(
            np.concatenate([ties - 1, ties, ties + 1, -128 * count * rng.random(500)]).astype(np.int64),
            -128 * count,
            127 * count,
        )
        got = arithmetic.multiply_by_quantized_multiplier(sums, *arithmetic.average_multiplier(count))
        assert np.array_equal(got, average(sums, count)), f"{count}, EYRIE_SEED={SEED}"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 9, 49, 64, 100, 1000, 2047, 2048])
def test_average_multiplier_rounds_ties_of_uint8_up(count):
    sums = np.arange(255 * count + 1)
    got = arithmetic.multiply_by_quantized_multiplier(sums, *arithmetic.average_multiplier(count))
    assert np.array_equal(got, (sums + count // 2) // count)


@pytest.mark.parametrize("count", [0, 2897])
def test_average_multiplier_rejects(count):
    with pytest.raises(ValueError) as error:
        arithmetic.average_multiplier(count)
    assert str(error.value) == f"an average by multiplication is over 1 to 2896 pixels, got {count}"

/* SPDX-License-Identifier: Apache-2.0
 * Written by scripts/gen_pkg.py from compiler/c/kernels/softmax.c: do not edit here.
 */
#include <stdint.h>

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* a * b / 2^31, rounded to nearest. Source: gemmlowp fixedpoint/fixedpoint.h, as of all fixed point. */
static int32_t high_mul(int32_t a, int32_t b)
{
    int64_t product = (int64_t)a * b;
    int64_t nudge = product >= 0 ? INT64_C(1) << 30 : 1 - (INT64_C(1) << 30);

    if (a == INT32_MIN && b == INT32_MIN)
        return INT32_MAX;
    return (int32_t)((product + nudge) / (INT64_C(1) << 31));
}

/* Needed of the compiler: `>>` keeps the sign, and a conversion to a signed type keeps the bits. */
typedef char shifts_keep_the_sign[(-1 >> 1) == -1 && (int32_t)UINT32_MAX == -1 ? 1 : -1];

/* value / 2^exponent, rounded to nearest, ties away from zero; exponent 0 to 62. */
static int32_t rounding_shift(int32_t value, int32_t exponent)
{
    int64_t mask = (INT64_C(1) << exponent) - 1;
    int64_t remainder = value & mask;
    int64_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);

    return (int32_t)(((int64_t)value >> exponent) + (remainder > threshold ? 1 : 0));
}

/* Numbers with so many integer bits, the other 31 being the fraction: those with 0 are fractions of 2^31.
 * Source: gemmlowp fixedpoint/fixedpoint.h. */

static int32_t saturating_left_shift(int32_t value, int32_t exponent)
{
    int32_t most = INT32_MAX >> exponent;

    if (value > most)
        return INT32_MAX;
    if (value < -most - 1)
        return INT32_MIN;
    return value * (INT32_C(1) << exponent);
}

/* exp of a number from -1/4 to below 0, with 0 integer bits, around -1/8. */
static int32_t exponential_above_minus_quarter(int32_t number)
{
    const int32_t of_minus_eighth = 1895147668, third = 715827883;
    int32_t x = number + (INT32_C(1) << 28);
    int32_t square = high_mul(x, x);
    int32_t cube = high_mul(square, x);
    int32_t fourth_by_4 = rounding_shift(high_mul(square, square), 2);
    int32_t tail = rounding_shift(high_mul(fourth_by_4 + cube, third) + square, 1);

    return of_minus_eighth + high_mul(of_minus_eighth, x + tail);
}

/* exp of a number that is not positive, with up to 5 integer bits; the result has 0. */
static int32_t exponential(int32_t number, int32_t integer_bits)
{
    /* exp(-1/4), exp(-1/2), exp(-1), ... exp(-16) */
    static const int32_t of_powers[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t fraction_bits = 31 - integer_bits;
    const int32_t quarter = INT32_C(1) << (fraction_bits - 2);
    int32_t part = (number & (quarter - 1)) - quarter;
    int32_t rest = part - number;
    int32_t result = exponential_above_minus_quarter(saturating_left_shift(part, integer_bits));

    if (number == 0)
        return INT32_MAX;
    for (int32_t power = 0; power < integer_bits + 2; ++power)
        if (rest & (quarter << power))
            result = high_mul(result, of_powers[power]);
    return result;
}

/* 2 / (1 + number) with 2 integer bits, of a number from 0 to 1 with 0, by Newton and Raphson. */
static int32_t two_over_one_plus(int32_t number)
{
    const int32_t one = INT32_C(1) << 29, of_48_17 = 1515870810, of_32_17 = 1010580540;
    int32_t half_denominator = (int32_t)(((int64_t)number + INT32_MAX + 1) / 2);
    int32_t x = of_48_17 + high_mul(half_denominator, -of_32_17);

    for (int i = 0; i < 3; ++i)
        x += saturating_left_shift(high_mul(x, one - high_mul(half_denominator, x)), 2);
    return x;
}

/* value * multiplier * 2^(shift - 31), rounded twice; shift -31 to 30. What a left shift takes out of 32 bits wraps. */
static int32_t rescale(int32_t value, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0;
    int32_t right = shift < 0 ? -shift : 0;

    return rounding_shift(high_mul((int32_t)((uint32_t)value << left), multiplier), right);
}

/* Over each row. Differences to its largest value are taken to 5 integer bits; those below `lowest` count nothing.
 * Source: tensorflow/lite/kernels/internal/reference/softmax.h. */
struct softmax {
    int32_t rows, length, lowest, multiplier, shift;
};

static int32_t exponential_of(const struct softmax *layer, int32_t difference)
{
    return exponential(rescale(difference, layer->multiplier, layer->shift), 5);
}

static void softmax_of_row(const struct softmax *layer, const int8_t *inputs, int8_t *outputs)
{
    int32_t largest = INT8_MIN, sum = 0, headroom = 0, inverse;

    for (int32_t i = 0; i < layer->length; ++i)
        largest = inputs[i] > largest ? inputs[i] : largest;
    for (int32_t i = 0; i < layer->length; ++i)
        if (inputs[i] - largest >= layer->lowest)
            sum += rounding_shift(exponential_of(layer, inputs[i] - largest), 12);
    while (!(((uint32_t)sum << headroom) >> 31))
        ++headroom;
    /* The inverse of the sum, of which the first bit is taken off, is shifted by 12 - headroom. */
    inverse = (int32_t)(((uint32_t)sum << headroom) - (UINT32_C(1) << 31));
    inverse = saturating_left_shift(two_over_one_plus(inverse), 1);
    for (int32_t i = 0; i < layer->length; ++i) {
        int32_t result = 0;
        if (inputs[i] - largest >= layer->lowest)
            result = rounding_shift(high_mul(inverse, exponential_of(layer, inputs[i] - largest)),
                                    12 - headroom + 31 - 8);
        outputs[i] = (int8_t)clamp(result - 128, INT8_MIN, INT8_MAX);
    }
}

static void softmax(const struct softmax *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t row = 0; row < layer->rows; ++row)
        softmax_of_row(layer, inputs + row * layer->length, outputs + row * layer->length);
}

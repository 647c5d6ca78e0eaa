/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp.h"
#include "high_mul.h"
#include "rounding_shift.h"

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

/* SPDX-License-Identifier: Apache-2.0 */

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

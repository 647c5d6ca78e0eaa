/* SPDX-License-Identifier: Apache-2.0 */

/* a * b / 2^31, rounded to nearest. Source: gemmlowp fixedpoint/fixedpoint.h, as of all fixed point. */
static int32_t high_mul(int32_t a, int32_t b)
{
    int64_t product = (int64_t)a * b;
    int64_t nudge = product >= 0 ? INT64_C(1) << 30 : 1 - (INT64_C(1) << 30);

    if (a == INT32_MIN && b == INT32_MIN)
        return INT32_MAX;
    return (int32_t)((product + nudge) / (INT64_C(1) << 31));
}

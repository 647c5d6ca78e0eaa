/* SPDX-License-Identifier: Apache-2.0 */

/* The sum of products of `count` values and weights, each less its zero point. */
static int32_t dot_product(const int8_t *values, int32_t zero_point, const int8_t *weights, int32_t weight_zero_point,
                           int32_t count)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < count; ++i)
        sum += (values[i] - zero_point) * (weights[i] - weight_zero_point);
    return sum;
}

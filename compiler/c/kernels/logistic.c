/* SPDX-License-Identifier: Apache-2.0 */
#include "exponential.h"
#include "rescale.h"

/* From a scale that `multiplier` and `shift` take to 4 integer bits; values at the radius and beyond are the ends. */
struct logistic {
    int32_t count, zero_point, radius, multiplier, shift;
};

/* 1 / (1 + exp(-number)), with 0 integer bits, of a number with 4. */
static int32_t logistic_of(int32_t number)
{
    int32_t of_positive;

    if (number == 0)
        return INT32_C(1) << 30;
    of_positive = saturating_left_shift(two_over_one_plus(exponential(number < 0 ? number : -number, 4)), 1);
    return number > 0 ? of_positive : INT32_MAX - of_positive;
}

static void logistic(const struct logistic *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i) {
        int32_t value = inputs[i] - layer->zero_point;
        if (value <= -layer->radius)
            outputs[i] = INT8_MIN;
        else if (value >= layer->radius)
            outputs[i] = INT8_MAX;
        else
            outputs[i] = (int8_t)clamp(
                rounding_shift(logistic_of(rescale(value, layer->multiplier, layer->shift)), 23) - 128, INT8_MIN,
                INT8_MAX);
    }
}

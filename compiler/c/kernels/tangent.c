/* SPDX-License-Identifier: Apache-2.0 */
#include "exponential.h"
#include "rescale.h"

/* TANH, with settings as of logistic. */
struct tangent {
    int32_t count, zero_point, radius, multiplier, shift;
};

/* tanh, with 0 integer bits, of a number with 4. */
static int32_t tangent_of(int32_t number)
{
    int32_t of_positive;

    if (number == 0)
        return 0;
    /* The same bits with 5 integer bits are twice the number. */
    of_positive = two_over_one_plus(exponential(number < 0 ? number : -number, 5)) - (INT32_C(1) << 29);
    of_positive = saturating_left_shift(of_positive, 2);
    return number > 0 ? of_positive : -of_positive;
}

static void tangent(const struct tangent *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i) {
        int32_t value = inputs[i] - layer->zero_point;
        if (value <= -layer->radius)
            outputs[i] = INT8_MIN;
        else if (value >= layer->radius)
            outputs[i] = INT8_MAX;
        else
            outputs[i] = (int8_t)clamp(rounding_shift(tangent_of(rescale(value, layer->multiplier, layer->shift)), 24),
                                       INT8_MIN, INT8_MAX);
    }
}

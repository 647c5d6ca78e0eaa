/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"
#include "requantize.h"

/* first: values, second: slopes of those that are negative. */
struct prelu {
    struct operands operands;
    int32_t first_zero_point, second_zero_point;
    int32_t positive_multiplier, positive_shift, negative_multiplier, negative_shift;
    struct range to;
};

static int8_t sloped(const void *settings, int32_t first, int32_t second)
{
    const struct prelu *layer = settings;
    int32_t value = first - layer->first_zero_point;

    if (value >= 0)
        return requantize(value, layer->positive_multiplier, layer->positive_shift, &layer->to);
    return requantize(value * (second - layer->second_zero_point), layer->negative_multiplier, layer->negative_shift,
                      &layer->to);
}

static void prelu(const struct prelu *layer, const int8_t *first, const int8_t *second, int8_t *outputs)
{
    join(&layer->operands, sloped, layer, first, second, outputs);
}

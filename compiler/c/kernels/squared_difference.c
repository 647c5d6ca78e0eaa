/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"
#include "requantize.h"

/* Both values are raised by 2^7 and rescaled to a common scale, so that the square has at most 31 bits. */
struct squared_difference {
    struct operands operands;
    int32_t first_zero_point, first_multiplier, first_shift;
    int32_t second_zero_point, second_multiplier, second_shift;
    int32_t multiplier, shift;
    struct range to;
};

static int8_t squared(const void *settings, int32_t first, int32_t second)
{
    const struct squared_difference *layer = settings;
    const int32_t raised = INT32_C(1) << 7;
    int32_t a = rescale((first - layer->first_zero_point) * raised, layer->first_multiplier, layer->first_shift);
    int32_t b = rescale((second - layer->second_zero_point) * raised, layer->second_multiplier, layer->second_shift);

    return requantize((a - b) * (a - b), layer->multiplier, layer->shift, &layer->to);
}

static void squared_difference(const struct squared_difference *layer, const int8_t *first, const int8_t *second,
                               int8_t *outputs)
{
    join(&layer->operands, squared, layer, first, second, outputs);
}

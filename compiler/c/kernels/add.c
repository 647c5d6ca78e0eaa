/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"
#include "requantize.h"

/* ADD, or SUB where `sign` is -1. Both values are raised by 2^20 and rescaled to a common scale. */
struct add {
    struct operands operands;
    int32_t sign;
    int32_t first_zero_point, first_multiplier, first_shift;
    int32_t second_zero_point, second_multiplier, second_shift;
    int32_t multiplier, shift;
    struct range to;
};

static int8_t added(const void *settings, int32_t first, int32_t second)
{
    const struct add *layer = settings;
    const int32_t raised = INT32_C(1) << 20;
    int32_t a = rescale((first - layer->first_zero_point) * raised, layer->first_multiplier, layer->first_shift);
    int32_t b = rescale((second - layer->second_zero_point) * raised, layer->second_multiplier, layer->second_shift);

    return requantize(a + layer->sign * b, layer->multiplier, layer->shift, &layer->to);
}

static void add(const struct add *layer, const int8_t *first, const int8_t *second, int8_t *outputs)
{
    join(&layer->operands, added, layer, first, second, outputs);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"
#include "requantize.h"

struct mul {
    struct operands operands;
    int32_t first_zero_point, second_zero_point, multiplier, shift;
    struct range to;
};

static int8_t multiplied(const void *settings, int32_t first, int32_t second)
{
    const struct mul *layer = settings;
    int32_t product = (first - layer->first_zero_point) * (second - layer->second_zero_point);

    return requantize(product, layer->multiplier, layer->shift, &layer->to);
}

static void mul(const struct mul *layer, const int8_t *first, const int8_t *second, int8_t *outputs)
{
    join(&layer->operands, multiplied, layer, first, second, outputs);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

/* Values of another scale, clamped: QUANTIZE, RELU and its kind. */
struct scale_values {
    int32_t count, zero_point, multiplier, shift;
    struct range to;
};

static void scale_values(const struct scale_values *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i)
        outputs[i] = requantize(inputs[i] - layer->zero_point, layer->multiplier, layer->shift, &layer->to);
}

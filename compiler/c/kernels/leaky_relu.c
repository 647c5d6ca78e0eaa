/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

struct leaky_relu {
    int32_t count, zero_point;
    int32_t positive_multiplier, positive_shift, negative_multiplier, negative_shift;
    struct range to;
};

static void leaky_relu(const struct leaky_relu *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i) {
        int32_t value = inputs[i] - layer->zero_point;
        if (value >= 0)
            outputs[i] = requantize(value, layer->positive_multiplier, layer->positive_shift, &layer->to);
        else
            outputs[i] = requantize(value, layer->negative_multiplier, layer->negative_shift, &layer->to);
    }
}

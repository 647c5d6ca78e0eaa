/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

struct absolute {
    int32_t count, zero_point, multiplier, shift;
    struct range to;
};

static void absolute(const struct absolute *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i) {
        int32_t value = inputs[i] - layer->zero_point;
        outputs[i] = requantize(value < 0 ? -value : value, layer->multiplier, layer->shift, &layer->to);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

/* From int32 of another scale. */
struct quantize_int32 {
    int32_t count, multiplier, shift;
    struct range to;
};

static void quantize_int32(const struct quantize_int32 *layer, const void *inputs, int8_t *outputs)
{
    const unsigned char *source = inputs;

    for (int32_t i = 0; i < layer->count; ++i, source += sizeof(int32_t)) {
        int32_t value;
        memcpy(&value, source, sizeof value);
        outputs[i] = requantize(value, layer->multiplier, layer->shift, &layer->to);
    }
}

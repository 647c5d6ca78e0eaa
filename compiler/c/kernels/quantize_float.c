/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

/* From float32. */
struct quantize_float {
    int32_t count;
    float scale;
    int32_t zero_point;
};

static void quantize_float(const struct quantize_float *layer, const void *inputs, int8_t *outputs)
{
    const unsigned char *source = inputs;

    for (int32_t i = 0; i < layer->count; ++i, source += sizeof(float)) {
        float value;
        memcpy(&value, source, sizeof value);
        outputs[i] = (int8_t)clamp(nearest(value / layer->scale) + layer->zero_point, INT8_MIN, INT8_MAX);
    }
}

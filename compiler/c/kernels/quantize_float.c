/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

/* From float32. */
struct quantize_float {
    int32_t count;
    float scale;
    int32_t zero_point;
    int32_t to_even; /* whether ties round to even */
};

static int32_t nearest_even(double value)
{
    int32_t found = nearest(value);
    double left = value - found;

    if (found % 2 == 0 || (left != 0.5 && left != -0.5))
        return found;
    return left < 0 ? found - 1 : found + 1;
}

static void quantize_float(const struct quantize_float *layer, const void *inputs, int8_t *outputs)
{
    const unsigned char *source = inputs;

    for (int32_t i = 0; i < layer->count; ++i, source += sizeof(float)) {
        float value;
        memcpy(&value, source, sizeof value);
        value /= layer->scale;
        outputs[i] =
            (int8_t)clamp((layer->to_even ? nearest_even(value) : nearest(value)) + layer->zero_point, INT8_MIN, INT8_MAX);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* To float32. */
struct dequantize {
    int32_t count, zero_point;
    float scale;
};

static void dequantize(const struct dequantize *layer, const int8_t *inputs, void *outputs)
{
    unsigned char *result = outputs;

    for (int32_t i = 0; i < layer->count; ++i, result += sizeof(float)) {
        float value = (float)((double)layer->scale * (inputs[i] - layer->zero_point));
        memcpy(result, &value, sizeof value);
    }
}

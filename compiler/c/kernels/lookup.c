/* SPDX-License-Identifier: Apache-2.0 */

/* A function of one value: entry q + 128 is the result of q. */
struct lookup {
    int32_t count;
    const int8_t *entries;
};

static void lookup(const struct lookup *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i)
        outputs[i] = layer->entries[inputs[i] + 128];
}

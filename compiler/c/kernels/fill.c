/* SPDX-License-Identifier: Apache-2.0 */

struct fill {
    int32_t count, value;
};

static void fill(const struct fill *layer, int8_t *outputs)
{
    memset(outputs, layer->value, (size_t)layer->count);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "place_of.h"

/* Runs of bytes from places to others: `count` of them, counted through so many axes; strides are in bytes. */
struct move {
    int32_t count, run, axes;
    const int32_t *sizes, *from, *to;
};

static void move(const struct move *layer, const void *input, void *output)
{
    const unsigned char *source = input;
    unsigned char *target = output;

    for (int32_t i = 0; i < layer->count; ++i)
        memcpy(target + place_of(i, layer->axes, layer->sizes, layer->to),
               source + place_of(i, layer->axes, layer->sizes, layer->from), (size_t)layer->run);
}

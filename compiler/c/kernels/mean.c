/* SPDX-License-Identifier: Apache-2.0 */
#include "place_of.h"
#include "requantize.h"

/* Over some axes of an array; the others are kept. */
struct mean {
    int32_t outputs, count; /* how many results, and of how many values each */
    int32_t kept_axes, averaged_axes;
    const int32_t *kept_sizes, *kept_strides, *averaged_sizes, *averaged_strides;
    int32_t input_zero_point, multiplier, shift;
    struct range to;
};

static void mean(const struct mean *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t n = 0; n < layer->outputs; ++n) {
        const int8_t *first = inputs + place_of(n, layer->kept_axes, layer->kept_sizes, layer->kept_strides);
        int32_t sum = 0;
        for (int32_t i = 0; i < layer->count; ++i)
            sum += first[place_of(i, layer->averaged_axes, layer->averaged_sizes, layer->averaged_strides)]
                   - layer->input_zero_point;
        outputs[n] = requantize(sum, layer->multiplier, layer->shift, &layer->to);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "exponential.h"
#include "rescale.h"

/* Over each row. Differences to its largest value are taken to 5 integer bits; those below `lowest` count nothing.
 * Source: tensorflow/lite/kernels/internal/reference/softmax.h. */
struct softmax {
    int32_t rows, length, lowest, multiplier, shift;
};

static int32_t exponential_of(const struct softmax *layer, int32_t difference)
{
    return exponential(rescale(difference, layer->multiplier, layer->shift), 5);
}

static void softmax_of_row(const struct softmax *layer, const int8_t *inputs, int8_t *outputs)
{
    int32_t largest = INT8_MIN, sum = 0, headroom = 0, inverse;

    for (int32_t i = 0; i < layer->length; ++i)
        largest = inputs[i] > largest ? inputs[i] : largest;
    for (int32_t i = 0; i < layer->length; ++i)
        if (inputs[i] - largest >= layer->lowest)
            sum += rounding_shift(exponential_of(layer, inputs[i] - largest), 12);
    while (!(((uint32_t)sum << headroom) >> 31))
        ++headroom;
    /* The inverse of the sum, of which the first bit is taken off, is shifted by 12 - headroom. */
    inverse = (int32_t)(((uint32_t)sum << headroom) - (UINT32_C(1) << 31));
    inverse = saturating_left_shift(two_over_one_plus(inverse), 1);
    for (int32_t i = 0; i < layer->length; ++i) {
        int32_t result = 0;
        if (inputs[i] - largest >= layer->lowest)
            result = rounding_shift(high_mul(inverse, exponential_of(layer, inputs[i] - largest)),
                                    12 - headroom + 31 - 8);
        outputs[i] = (int8_t)clamp(result - 128, INT8_MIN, INT8_MAX);
    }
}

static void softmax(const struct softmax *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t row = 0; row < layer->rows; ++row)
        softmax_of_row(layer, inputs + row * layer->length, outputs + row * layer->length);
}

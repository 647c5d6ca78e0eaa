/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp.h"
#include "rounding_shift.h"

/* In 16 bits; multipliers are fractions of 2^15. Source: tensorflow/lite/kernels/internal/reference/hard_swish.h. */
struct hard_swish {
    int32_t count, zero_point;
    int32_t multiplier, exponent;           /* of the value, to the output's scale; the exponent is not positive */
    int32_t gate_multiplier, gate_exponent; /* to the scale in which 3 is 2^15 */
    int32_t output_zero_point;
};

/* a * b / 2^15, rounded to nearest, of numbers of 16 bits. */
static int32_t high_mul_16(int32_t a, int32_t b)
{
    int32_t product = a * b;

    return (product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (INT32_C(1) << 15);
}

/* Held in 16 bits; the exponent is 0 to 29. */
static int32_t raised_16(int32_t value, int32_t exponent)
{
    int64_t raised = value * (INT64_C(1) << exponent);

    return raised < INT16_MIN ? INT16_MIN : raised > INT16_MAX ? INT16_MAX : (int32_t)raised;
}

static int32_t hard_swish_of(const struct hard_swish *layer, int32_t value)
{
    int32_t fine = value * 128;
    int32_t gate = fine;

    if (layer->gate_exponent > 0)
        gate = raised_16(gate, layer->gate_exponent - 1);
    gate = high_mul_16(gate, layer->gate_multiplier);
    if (layer->gate_exponent > 0)
        gate = raised_16(gate, 1);
    else
        gate = rounding_shift(gate, -layer->gate_exponent);
    gate = (gate + (INT32_C(1) << 15)) >> 1; /* from -3 to 3: from 0 to 1 */
    return rounding_shift(gate * high_mul_16(fine, layer->multiplier) / (INT32_C(1) << 15), -layer->exponent);
}

static void hard_swish(const struct hard_swish *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t i = 0; i < layer->count; ++i)
        outputs[i] = (int8_t)clamp(hard_swish_of(layer, inputs[i] - layer->zero_point) + layer->output_zero_point,
                                   INT8_MIN, INT8_MAX);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

/* ifmap [N, H, W, C], filters [R, S, M], ofmap [N, E, F, M]: M / C outputs of each channel. */
struct depthwise_conv_2d {
    int32_t N, H, W, C, E, F, M, R, S;
    int32_t stride[2], dilation[2];
    int32_t top, left; /* pads */
    int32_t input_zero_point, filter_zero_point;
    const int8_t *filters;
    const int32_t *bias, *multipliers;
    const int8_t *shifts;
    struct range to;
};

/* The sum of one pixel of one ofmap channel. */
static int32_t depthwise_conv_2d_sum(const struct depthwise_conv_2d *layer, const int8_t *image, int32_t e, int32_t f,
                                     int32_t m)
{
    const int32_t c = m / (layer->M / layer->C);
    int32_t sum = layer->bias[m];

    for (int32_t r = 0; r < layer->R; ++r) {
        int32_t y = e * layer->stride[0] + r * layer->dilation[0] - layer->top;
        if (y < 0 || y >= layer->H)
            continue;
        for (int32_t s = 0; s < layer->S; ++s) {
            int32_t x = f * layer->stride[1] + s * layer->dilation[1] - layer->left;
            if (x < 0 || x >= layer->W)
                continue;
            int32_t value = image[(y * layer->W + x) * layer->C + c] - layer->input_zero_point;
            sum += value * (layer->filters[(r * layer->S + s) * layer->M + m] - layer->filter_zero_point);
        }
    }
    return sum;
}

static void depthwise_conv_2d(const struct depthwise_conv_2d *layer, const int8_t *ifmap, int8_t *ofmap)
{
    for (int32_t n = 0; n < layer->N; ++n)
        for (int32_t e = 0; e < layer->E; ++e)
            for (int32_t f = 0; f < layer->F; ++f)
                for (int32_t m = 0; m < layer->M; ++m) {
                    int32_t sum = depthwise_conv_2d_sum(layer, ifmap + n * layer->H * layer->W * layer->C, e, f, m);
                    *ofmap++ = requantize(sum, layer->multipliers[m], layer->shifts[m], &layer->to);
                }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

/* ifmap [N, H, W, C], filters [M, R, S, C / groups], ofmap [N, E, F, M]. */
struct conv_2d {
    int32_t N, H, W, C, E, F, M, R, S, groups;
    int32_t stride[2], dilation[2];
    int32_t top, left; /* pads */
    int32_t input_zero_point, filter_zero_point;
    const int8_t *filters;
    const int32_t *bias, *multipliers;
    const int8_t *shifts;
    struct range to;
};

/* The sum of one pixel of one ofmap channel. */
static int32_t conv_2d_sum(const struct conv_2d *layer, const int8_t *image, int32_t e, int32_t f, int32_t m)
{
    const int32_t channels = layer->C / layer->groups;
    const int32_t first = m / (layer->M / layer->groups) * channels;
    int32_t sum = layer->bias[m];

    for (int32_t r = 0; r < layer->R; ++r) {
        int32_t y = e * layer->stride[0] + r * layer->dilation[0] - layer->top;
        if (y < 0 || y >= layer->H)
            continue;
        for (int32_t s = 0; s < layer->S; ++s) {
            int32_t x = f * layer->stride[1] + s * layer->dilation[1] - layer->left;
            if (x < 0 || x >= layer->W)
                continue;
            const int8_t *pixel = image + (y * layer->W + x) * layer->C + first;
            const int8_t *filter = layer->filters + ((m * layer->R + r) * layer->S + s) * channels;
            for (int32_t c = 0; c < channels; ++c)
                sum += (pixel[c] - layer->input_zero_point) * (filter[c] - layer->filter_zero_point);
        }
    }
    return sum;
}

static void conv_2d(const struct conv_2d *layer, const int8_t *ifmap, int8_t *ofmap)
{
    for (int32_t n = 0; n < layer->N; ++n)
        for (int32_t e = 0; e < layer->E; ++e)
            for (int32_t f = 0; f < layer->F; ++f)
                for (int32_t m = 0; m < layer->M; ++m) {
                    int32_t sum = conv_2d_sum(layer, ifmap + n * layer->H * layer->W * layer->C, e, f, m);
                    *ofmap++ = requantize(sum, layer->multipliers[m], layer->shifts[m], &layer->to);
                }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "requantize.h"

/* ifmap [N, H, W, C], filters [M, R, S, C], ofmap [N, E, F, M]. top, left: rows and columns of sums before the ofmap. */
struct transpose_conv {
    int32_t N, H, W, C, E, F, M, R, S;
    int32_t stride[2], dilation[2];
    int32_t top, left;
    int32_t input_zero_point, filter_zero_point;
    const int8_t *filters;
    const int32_t *bias, *multipliers;
    const int8_t *shifts;
    struct range to;
};

/* The sum of one pixel of one ofmap channel: of the taps whose row and column of the ifmap are whole. */
static int32_t transpose_conv_sum(const struct transpose_conv *layer, const int8_t *image, int32_t e, int32_t f,
                                  int32_t m)
{
    int32_t sum = layer->bias[m];

    for (int32_t r = 0; r < layer->R; ++r) {
        int32_t down = e + layer->top - r, y = down / layer->stride[0];
        if (down < 0 || down % layer->stride[0] || y >= layer->H)
            continue;
        for (int32_t s = 0; s < layer->S; ++s) {
            int32_t across = f + layer->left - s, x = across / layer->stride[1];
            if (across < 0 || across % layer->stride[1] || x >= layer->W)
                continue;
            const int8_t *pixel = image + (y * layer->W + x) * layer->C;
            const int8_t *filter = layer->filters + ((m * layer->R + r) * layer->S + s) * layer->C;
            for (int32_t c = 0; c < layer->C; ++c)
                sum += (pixel[c] - layer->input_zero_point) * (filter[c] - layer->filter_zero_point);
        }
    }
    return sum;
}

static void transpose_conv(const struct transpose_conv *layer, const int8_t *ifmap, int8_t *ofmap)
{
    for (int32_t n = 0; n < layer->N; ++n)
        for (int32_t e = 0; e < layer->E; ++e)
            for (int32_t f = 0; f < layer->F; ++f)
                for (int32_t m = 0; m < layer->M; ++m) {
                    int32_t sum = transpose_conv_sum(layer, ifmap + n * layer->H * layer->W * layer->C, e, f, m);
                    *ofmap++ = requantize(sum, layer->multipliers[m], layer->shifts[m], &layer->to);
                }
}

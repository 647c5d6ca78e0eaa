/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp.h"

/* ifmap [N, H, W, C], ofmap [N, E, F, C]; windows of R x S. Padding never wins. */
struct max_pool_2d {
    int32_t N, H, W, C, E, F, R, S;
    int32_t stride[2];
    int32_t top, left; /* pads */
    int32_t minimum, maximum;
};

static int32_t maximum_of_window(const struct max_pool_2d *layer, const int8_t *channel, int32_t e, int32_t f)
{
    int32_t largest = INT8_MIN;

    for (int32_t r = 0; r < layer->R; ++r)
        for (int32_t s = 0; s < layer->S; ++s) {
            int32_t y = e * layer->stride[0] + r - layer->top;
            int32_t x = f * layer->stride[1] + s - layer->left;
            if (y < 0 || y >= layer->H || x < 0 || x >= layer->W)
                continue;
            int32_t value = channel[(y * layer->W + x) * layer->C];
            largest = value > largest ? value : largest;
        }
    return largest;
}

static void max_pool_2d(const struct max_pool_2d *layer, const int8_t *ifmap, int8_t *ofmap)
{
    for (int32_t n = 0; n < layer->N; ++n, ifmap += layer->H * layer->W * layer->C)
        for (int32_t e = 0; e < layer->E; ++e)
            for (int32_t f = 0; f < layer->F; ++f)
                for (int32_t c = 0; c < layer->C; ++c)
                    *ofmap++ = (int8_t)clamp(maximum_of_window(layer, ifmap + c, e, f), layer->minimum,
                                             layer->maximum);
}

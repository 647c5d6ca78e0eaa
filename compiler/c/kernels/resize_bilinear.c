/* SPDX-License-Identifier: Apache-2.0 */

/* ifmap [N, H, W, C], ofmap [N, E, F, C], with 10 fraction bits; scales are H / E and W / F with these, or those of
 * aligned corners. Source: tensorflow/lite/kernels/internal/reference/resize_bilinear.h. */
struct resize_bilinear {
    int32_t N, H, W, C, E, F;
    int32_t row_scale, column_scale, half_pixel_centers;
};

/* Between which of `size` pixels a pixel of the ofmap lies, and how far from the first. */
struct neighbours {
    int32_t first, second, distance;
};

static struct neighbours neighbours_of(int32_t pixel, int32_t scale, int32_t half_pixel_centers, int32_t size)
{
    int32_t place = pixel * scale + (half_pixel_centers ? scale / 2 - 512 : 0);
    struct neighbours found;

    found.first = place / 1024 > 0 ? place / 1024 : 0;
    found.second = (place + 1023) / 1024 < size - 1 ? (place + 1023) / 1024 : size - 1;
    found.distance = place - 1024 * found.first;
    return found;
}

static int8_t between(const struct resize_bilinear *layer, const int8_t *channel, struct neighbours y,
                      struct neighbours x)
{
    const int8_t *upper = channel + y.first * layer->W * layer->C;
    const int8_t *lower = channel + y.second * layer->W * layer->C;
    int64_t left = (int64_t)upper[x.first * layer->C] * (1024 - y.distance) + lower[x.first * layer->C] * y.distance;
    int64_t right = (int64_t)upper[x.second * layer->C] * (1024 - y.distance) + lower[x.second * layer->C] * y.distance;
    int64_t sum = left * (1024 - x.distance) + right * x.distance;

    return (int8_t)((sum + (sum > 0 ? INT32_C(1) << 19 : -(INT32_C(1) << 19))) / (INT32_C(1) << 20));
}

static void resize_bilinear(const struct resize_bilinear *layer, const int8_t *ifmap, int8_t *ofmap)
{
    for (int32_t n = 0; n < layer->N; ++n, ifmap += layer->H * layer->W * layer->C)
        for (int32_t e = 0; e < layer->E; ++e)
            for (int32_t f = 0; f < layer->F; ++f) {
                struct neighbours y = neighbours_of(e, layer->row_scale, layer->half_pixel_centers, layer->H);
                struct neighbours x = neighbours_of(f, layer->column_scale, layer->half_pixel_centers, layer->W);
                for (int32_t c = 0; c < layer->C; ++c)
                    *ofmap++ = between(layer, ifmap + c, y, x);
            }
}

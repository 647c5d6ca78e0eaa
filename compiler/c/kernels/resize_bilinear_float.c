/* SPDX-License-Identifier: Apache-2.0 */

/* As resize_bilinear, of what the model has as uint8: the reference interpolates in float, with its own order of
 * products and sums. */
struct resize_bilinear_float {
    int32_t N, H, W, C, E, F;
    float row_scale, column_scale;
    int32_t half_pixel_centers;
};

struct real_neighbours {
    int32_t first, second;
    float distance;
};

static struct real_neighbours real_neighbours_of(int32_t pixel, float scale, int32_t half_pixel_centers, int32_t size)
{
    float raised = half_pixel_centers ? (float)pixel + 0.5f : (float)pixel;
    float scaled = raised * scale;
    float place = half_pixel_centers ? scaled - 0.5f : scaled;
    struct real_neighbours found;

    found.first = (int32_t)place;
    found.second = found.first + (place > (float)found.first ? 1 : 0);
    found.second = found.second < size - 1 ? found.second : size - 1;
    found.distance = place - (float)found.first;
    return found;
}

static int8_t real_between(const struct resize_bilinear_float *layer, const int8_t *channel, struct real_neighbours y,
                           struct real_neighbours x)
{
    const int8_t *upper = channel + y.first * layer->W * layer->C;
    const int8_t *lower = channel + y.second * layer->W * layer->C;
    float upper_left = (float)(upper[x.first * layer->C] + 128) * (1 - y.distance) * (1 - x.distance);
    float lower_left = (float)(lower[x.first * layer->C] + 128) * y.distance * (1 - x.distance);
    float upper_right = (float)(upper[x.second * layer->C] + 128) * (1 - y.distance) * x.distance;
    float lower_right = (float)(lower[x.second * layer->C] + 128) * y.distance * x.distance;
    float sum = upper_left + lower_left;

    sum += upper_right;
    sum += lower_right;
    return (int8_t)((int32_t)(sum + 0.5f) - 128);
}

static void resize_bilinear_float(const struct resize_bilinear_float *layer, const int8_t *ifmap, int8_t *ofmap)
{
    for (int32_t n = 0; n < layer->N; ++n, ifmap += layer->H * layer->W * layer->C)
        for (int32_t e = 0; e < layer->E; ++e)
            for (int32_t f = 0; f < layer->F; ++f) {
                struct real_neighbours y = real_neighbours_of(e, layer->row_scale, layer->half_pixel_centers, layer->H);
                struct real_neighbours x =
                    real_neighbours_of(f, layer->column_scale, layer->half_pixel_centers, layer->W);
                for (int32_t c = 0; c < layer->C; ++c)
                    *ofmap++ = real_between(layer, ifmap + c, y, x);
            }
}

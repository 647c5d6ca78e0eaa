/* SPDX-License-Identifier: Apache-2.0 */
#include "dot_product.h"
#include "nearest.h"

/* As fully_connected, rescaled in double and rounded once: the only reference of uint8 does so. */
struct fully_connected_once {
    int32_t N, C, M;
    int32_t input_zero_point, filter_zero_point;
    const int8_t *filters;
    const int32_t *bias;
    const double *factors;
    int32_t zero_point, minimum, maximum;
};

static void fully_connected_once(const struct fully_connected_once *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t n = 0; n < layer->N; ++n, inputs += layer->C)
        for (int32_t m = 0; m < layer->M; ++m) {
            int32_t sum = layer->bias[m] + dot_product(inputs, layer->input_zero_point, layer->filters + m * layer->C,
                                                       layer->filter_zero_point, layer->C);
            int32_t value = nearest(sum * layer->factors[m]) + layer->zero_point;
            *outputs++ = (int8_t)clamp(value, layer->minimum, layer->maximum);
        }
}

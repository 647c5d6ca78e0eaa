/* SPDX-License-Identifier: Apache-2.0 */
#include "dot_product.h"
#include "requantize.h"

/* inputs [N, C], filters [M, C], outputs [N, M]. */
struct fully_connected {
    int32_t N, C, M;
    int32_t input_zero_point, filter_zero_point;
    const int8_t *filters;
    const int32_t *bias, *multipliers;
    const int8_t *shifts;
    struct range to;
};

static void fully_connected(const struct fully_connected *layer, const int8_t *inputs, int8_t *outputs)
{
    for (int32_t n = 0; n < layer->N; ++n, inputs += layer->C)
        for (int32_t m = 0; m < layer->M; ++m) {
            int32_t sum = layer->bias[m] + dot_product(inputs, layer->input_zero_point, layer->filters + m * layer->C,
                                                       layer->filter_zero_point, layer->C);
            *outputs++ = requantize(sum, layer->multipliers[m], layer->shifts[m], &layer->to);
        }
}

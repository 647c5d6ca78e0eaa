/* SPDX-License-Identifier: Apache-2.0 */
#include "place_of.h"
#include "requantize.h"

/* first [M, K], second [K, N], outputs [M, N], of so many products. The operands' strides are along batches, counted
 * through so many axes, rows and columns. */
struct batch_matmul {
    int32_t batches, axes;
    const int32_t *sizes, *first_strides, *second_strides;
    int32_t M, K, N;
    int32_t first_row, first_column, second_row, second_column;
    int32_t first_zero_point, second_zero_point, multiplier, shift;
    struct range to;
};

static void batch_matmul(const struct batch_matmul *layer, const int8_t *first, const int8_t *second, int8_t *outputs)
{
    for (int32_t batch = 0; batch < layer->batches; ++batch) {
        const int8_t *a = first + place_of(batch, layer->axes, layer->sizes, layer->first_strides);
        const int8_t *b = second + place_of(batch, layer->axes, layer->sizes, layer->second_strides);
        for (int32_t m = 0; m < layer->M; ++m)
            for (int32_t n = 0; n < layer->N; ++n) {
                int32_t sum = 0;
                for (int32_t k = 0; k < layer->K; ++k)
                    sum += (a[m * layer->first_row + k * layer->first_column] - layer->first_zero_point) *
                           (b[k * layer->second_row + n * layer->second_column] - layer->second_zero_point);
                *outputs++ = requantize(sum, layer->multiplier, layer->shift, &layer->to);
            }
    }
}

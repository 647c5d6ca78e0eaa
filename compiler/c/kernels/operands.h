/* SPDX-License-Identifier: Apache-2.0 */
#include "place_of.h"

/* Which values of two arrays go together: `rows` times `length`. Rows are counted through so many axes, with the
 * strides of both arrays; a stride of 0 repeats. */
struct operands {
    int32_t rows, length, axes;
    const int32_t *sizes, *first_strides, *second_strides;
    int32_t first_step, second_step;
};

/* What two values make, by the settings of a layer. */
typedef int8_t joining(const void *layer, int32_t first, int32_t second);

static void join(const struct operands *operands, joining *joined, const void *layer, const int8_t *first,
                 const int8_t *second, int8_t *outputs)
{
    for (int32_t row = 0; row < operands->rows; ++row) {
        const int8_t *a = first + place_of(row, operands->axes, operands->sizes, operands->first_strides);
        const int8_t *b = second + place_of(row, operands->axes, operands->sizes, operands->second_strides);
        for (int32_t i = 0; i < operands->length; ++i)
            *outputs++ = joined(layer, a[i * operands->first_step], b[i * operands->second_step]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

struct minimum {
    struct operands operands;
};

static int8_t smaller(const void *layer, int32_t first, int32_t second)
{
    (void)layer;
    return (int8_t)(first < second ? first : second);
}

static void minimum(const struct minimum *layer, const int8_t *first, const int8_t *second, int8_t *outputs)
{
    join(&layer->operands, smaller, layer, first, second, outputs);
}

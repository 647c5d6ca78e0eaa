/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

struct maximum {
    struct operands operands;
};

static int8_t larger(const void *layer, int32_t first, int32_t second)
{
    (void)layer;
    return (int8_t)(first > second ? first : second);
}

static void maximum(const struct maximum *layer, const int8_t *first, const int8_t *second, int8_t *outputs)
{
    join(&layer->operands, larger, layer, first, second, outputs);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp.h"

/* The nearest whole number, ties away from zero, held in 16 bits; of what is no number, the least. */
static int32_t nearest(double value)
{
    if (!(value > INT16_MIN))
        return INT16_MIN;
    if (value > INT16_MAX)
        return INT16_MAX;
    return value < 0 ? -(int32_t)(0.5 - value) : (int32_t)(value + 0.5);
}

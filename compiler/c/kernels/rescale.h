/* SPDX-License-Identifier: Apache-2.0 */
#include "high_mul.h"
#include "rounding_shift.h"

/* value * multiplier * 2^(shift - 31), rounded twice; shift -31 to 30. What a left shift takes out of 32 bits wraps. */
static int32_t rescale(int32_t value, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0;
    int32_t right = shift < 0 ? -shift : 0;

    return rounding_shift(high_mul((int32_t)((uint32_t)value << left), multiplier), right);
}

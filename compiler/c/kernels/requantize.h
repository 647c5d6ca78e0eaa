/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp.h"
#include "rescale.h"

/* How a result becomes int8: its zero point, and the range that the activation leaves. */
struct range {
    int32_t zero_point, minimum, maximum;
};

static int8_t requantize(int32_t sum, int32_t multiplier, int32_t shift, const struct range *to)
{
    int32_t value = rescale(sum, multiplier, shift);

    return (int8_t)(clamp(value, to->minimum - to->zero_point, to->maximum - to->zero_point) + to->zero_point);
}

/* SPDX-License-Identifier: Apache-2.0 */

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

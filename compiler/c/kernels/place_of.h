/* SPDX-License-Identifier: Apache-2.0 */

/* Where a value lies whose number is counted row by row through so many axes; with no axes there is one, at 0. */
static int32_t place_of(int32_t number, int32_t axes, const int32_t *sizes, const int32_t *strides)
{
    int32_t place = 0;

    for (int32_t axis = axes - 1; axis >= 0; --axis) {
        place += number % sizes[axis] * strides[axis];
        number /= sizes[axis];
    }
    return place;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Runs of bytes, one behind the other: `count` of them, counted through so many axes. `offsets` has, for each axis
 * behind the other, how far from the first byte each of its places is. */
struct gather {
    int32_t count, run, axes, places; /* places: of all axes together */
    const int32_t *sizes, *offsets;
};

static void gather(const struct gather *layer, const void *input, void *output)
{
    const unsigned char *source = input;
    unsigned char *target = output;

    for (int32_t i = 0; i < layer->count; ++i, target += layer->run) {
        const int32_t *offsets = layer->offsets + layer->places;
        int32_t number = i, place = 0;
        for (int32_t axis = layer->axes - 1; axis >= 0; --axis) {
            offsets -= layer->sizes[axis];
            place += offsets[number % layer->sizes[axis]];
            number /= layer->sizes[axis];
        }
        memcpy(target, source + place, (size_t)layer->run);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* uint8 to int8, which is 128 less, and back. */
struct flip {
    int32_t count;
};

static void flip(const struct flip *layer, const void *input, void *output)
{
    const unsigned char *source = input;
    unsigned char *target = output;

    for (int32_t i = 0; i < layer->count; ++i)
        target[i] = source[i] ^ 0x80;
}

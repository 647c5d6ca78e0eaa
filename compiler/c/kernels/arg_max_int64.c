/* SPDX-License-Identifier: Apache-2.0 */

/* inputs [outer, count, inner] -> int64 [outer, inner]: the first of the largest. */
struct arg_max_int64 {
    int32_t outer, count, inner;
};

static void arg_max_int64(const struct arg_max_int64 *layer, const int8_t *inputs, void *outputs)
{
    unsigned char *result = outputs;

    for (int32_t outer = 0; outer < layer->outer; ++outer, inputs += layer->count * layer->inner)
        for (int32_t inner = 0; inner < layer->inner; ++inner) {
            int64_t place = 0;
            for (int32_t i = 1; i < layer->count; ++i)
                if (inputs[i * layer->inner + inner] > inputs[place * layer->inner + inner])
                    place = i;
            memcpy(result, &place, sizeof place);
            result += sizeof place;
        }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax over the channels, by the host, as TensorFlow Lite's reference computes it.
 */

#include "eyrie_library.h"
#include "eyrie_softmax_kernel.h"

#define INTEGER_BITS 5   /* of differences to the largest value */
#define MOST_STEPS 256.0 /* that no difference has */

/* factor = multiplier * 2^(shift - 31), rounded; below 2^-32 it is 0. */
static void quantize_factor(double factor, struct softmax *layer) {
  int32_t shift = 0;
  for (; factor >= 1.0; factor /= 2) shift++;
  for (; factor < 0.5 && shift >= -31; factor *= 2) shift--;
  int64_t multiplier = (int64_t)(factor * 2147483648.0 + 0.5);
  if (multiplier == INT64_C(1) << 31) {
    multiplier /= 2;
    shift++;
  }
  layer->multiplier = shift >= -31 ? (int32_t)multiplier : 0;
  layer->shift = shift >= -31 ? shift : 0;
}

static struct softmax layer_of(const struct eyrie_operation *operation) {
  struct softmax layer = {1, (int32_t)operation->tensors[1].c, 0, 0, 0};
  double factor = (double)operation->beta * (double)operation->tensors[1].scale * 67108864.0; /* 2^(31 - 5) */
  double held = ((1 << INTEGER_BITS) - 1) * 67108864.0;
  quantize_factor(factor < 2147483647.0 ? factor : 2147483647.0, &layer);
  for (int32_t n = 0; n < layer.shift; n++) held /= 2;
  layer.lowest = -(int32_t)(held < MOST_STEPS ? held : MOST_STEPS);
  return layer;
}

void eyrie_do_softmax(const struct eyrie_platform *platform, const struct eyrie_operation *operation) {
  const struct eyrie_tensor_setting *setting = &operation->tensors[1];
  const struct eyrie_map map = eyrie_map_of(setting);
  const struct softmax layer = layer_of(operation);
  const uint32_t step = eyrie_map_bytes(&map), row_step = map.groups * map.pitch * EYRIE_WORD_BYTES;
  for (uint32_t n = 0; n < setting->n; n++) {
    const struct eyrie_values values = {platform, NULL, &map, operation->places[1] + n * step};
    for (uint32_t pixel = 0; pixel < map.height * map.width; pixel++) {
      int8_t row[EYRIE_SOFTMAX_CHANNELS];
      const uint32_t first = operation->places[0] + n * step + pixel / map.width * row_step;
      for (uint32_t c = 0; c < map.channels; c++) row[c] = eyrie_value(&values, pixel * map.channels + c);
      softmax(&layer, row, row);
      for (uint32_t c = 0; c < map.channels; c += EYRIE_WORD_BYTES) {
        uint8_t word[EYRIE_WORD_BYTES];
        for (uint32_t lane = 0; lane < EYRIE_WORD_BYTES; lane++)
          word[lane] = c + lane < map.channels ? (uint8_t)row[c + lane] : 0;
        platform->write_memory(platform->context, first + (c / EYRIE_WORD_BYTES * map.pitch + pixel % map.width) *
                               EYRIE_WORD_BYTES, word, EYRIE_WORD_BYTES);
      }
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of maps: in C order in the host's memory, or as maps lie in the window (struct eyrie_map).
 */

#include "eyrie_library.h"

#define PACKED_CHANNELS 4u /* of a pixel of a packed map */

/* Of a byte in the window, from the map's first one. */
static uint32_t offset_of(const struct eyrie_map *map, uint32_t y, uint32_t x, uint32_t channel) {
  if (map->packed) return y * map->pitch * EYRIE_WORD_BYTES + x * PACKED_CHANNELS + channel;
  const uint32_t row = y * map->groups + channel / EYRIE_WORD_BYTES;
  return (row * map->pitch + x) * EYRIE_WORD_BYTES + channel % EYRIE_WORD_BYTES;
}

int8_t eyrie_value(const struct eyrie_values *values, uint32_t number) {
  if (values->host != NULL) return values->host[number];
  const struct eyrie_map *map = values->map;
  const uint32_t pixel = number / map->channels;
  uint8_t byte = 0;
  values->platform->read_memory(values->platform->context, values->place + offset_of(
      map, pixel / map->width, pixel % map->width, number % map->channels), &byte, 1);
  return (int8_t)(byte < 128 ? byte : byte - 256);
}

/* A word of a row of a group; lanes that hold no value are zero. */
static void fill_word(const struct eyrie_map *map, uint32_t row, uint32_t column, const struct eyrie_values *values,
                      uint8_t *word) {
  const uint32_t y = row / map->groups, group = row % map->groups;
  for (uint32_t n = 0; n < EYRIE_WORD_BYTES; n++) {
    size_t index = 0;
    const enum eyrie_byte byte = eyrie_byte_of(map, y, group, column * EYRIE_WORD_BYTES + n, &index);
    word[n] = byte == EYRIE_VALUE ? (uint8_t)eyrie_value(values, (uint32_t)index)
                                  : byte == EYRIE_OUTSIDE ? (uint8_t)map->zero_point : 0;
  }
}

void eyrie_write_map(const struct eyrie_platform *platform, const struct eyrie_map *map, uint32_t place,
                     const struct eyrie_values *values) {
  for (uint32_t row = 0; row < laid_rows(map) * map->groups; row++) {
    for (uint32_t column = 0; column < map->pitch; column++) {
      uint8_t word[EYRIE_WORD_BYTES];
      fill_word(map, row, column, values, word);
      platform->write_memory(platform->context, place + (row * map->pitch + column) * EYRIE_WORD_BYTES, word,
                             EYRIE_WORD_BYTES);
    }
  }
}

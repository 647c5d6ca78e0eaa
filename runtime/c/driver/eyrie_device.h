/* SPDX-License-Identifier: Apache-2.0
 *
 * What the driver's files share.
 */
#ifndef EYRIE_DEVICE_H
#define EYRIE_DEVICE_H

#include "eyrie_driver.h"

#define EYRIE_WORD_BYTES 8u
#define EYRIE_WINDOW_STEP 64u

static inline uint32_t read_register(const struct eyrie_device *device, uint32_t address) {
  return device->platform.read_register(device->platform.context, address);
}

static inline void write_register(const struct eyrie_device *device, uint32_t address, uint32_t value) {
  device->platform.write_register(device->platform.context, address, value);
}

static inline bool is_open(const struct eyrie_device *device) {
  return device != NULL && device->platform.read_register != NULL;
}

static inline bool is_busy(const struct eyrie_device *device) {
  return (read_register(device, EYRIE_REGISTER_STATUS) & EYRIE_STATUS_BUSY) != 0;
}

/* Rows of a map, as it lies. */
static inline uint32_t laid_rows(const struct eyrie_map *map) {
  return map->patches.rows != 0 ? map->patches.rows : map->height;
}

/* Which value, in C order, is byte n of row y of a group of a map, as it lies; a byte outside of the map is its
 * zero point, one without a value 0. */
enum eyrie_byte { EYRIE_NO_VALUE, EYRIE_VALUE, EYRIE_OUTSIDE };
enum eyrie_byte eyrie_byte_of(const struct eyrie_map *map, uint32_t y, uint32_t group, uint32_t n, size_t *index);

/* Bytes of a map of all images of a run; of a map that is one. */
static inline uint32_t map_bytes(const struct eyrie_network *network, const struct eyrie_map *map) {
  return network->images * laid_rows(map) * map->groups * map->pitch * EYRIE_WORD_BYTES;
}

#endif

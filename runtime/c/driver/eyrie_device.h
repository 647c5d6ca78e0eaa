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

/* Bytes of a map of all images of a run; of a map that is one. */
static inline uint32_t map_bytes(const struct eyrie_network *network, const struct eyrie_map *map) {
  return network->images * map->height * map->groups * map->pitch * EYRIE_WORD_BYTES;
}

#endif

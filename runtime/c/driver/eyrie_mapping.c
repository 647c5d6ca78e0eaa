/* SPDX-License-Identifier: Apache-2.0
 *
 * The platform whose registers and window are places in memory. Accesses are volatile, so that the compiler keeps their
 * order: the memory is written before the register that starts the accelerator.
 */

#include "eyrie_driver.h"

static uint32_t read_register(void *context, uint32_t address) {
  return ((const struct eyrie_mapping *)context)->registers[address / 4];
}

static void write_register(void *context, uint32_t address, uint32_t value) {
  ((const struct eyrie_mapping *)context)->registers[address / 4] = value;
}

static void write_memory(void *context, uint32_t offset, const uint8_t *bytes, uint32_t count) {
  volatile uint8_t *to = ((const struct eyrie_mapping *)context)->memory + offset;
  for (uint32_t n = 0; n < count; n++) to[n] = bytes[n];
}

static void read_memory(void *context, uint32_t offset, uint8_t *bytes, uint32_t count) {
  const volatile uint8_t *from = ((const struct eyrie_mapping *)context)->memory + offset;
  for (uint32_t n = 0; n < count; n++) bytes[n] = from[n];
}

enum eyrie_result eyrie_map_platform(struct eyrie_platform *platform, struct eyrie_mapping *mapping) {
  if (platform == NULL || mapping == NULL || mapping->registers == NULL || mapping->memory == NULL)
    return EYRIE_BAD_ARGUMENT;
  platform->context = mapping;
  platform->read_register = read_register;
  platform->write_register = write_register;
  platform->write_memory = write_memory;
  platform->read_memory = read_memory;
  platform->wait = NULL;
  return EYRIE_OK;
}

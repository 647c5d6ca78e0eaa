/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated SoC as the driver's platform. CONFIG_SIZES, a macro, has the sizes of the accelerator that is linked.
 */

#include <string.h>

#include "soc.h"
#include "eyrie_driver.h"

#define WAIT_CYCLES 20000u /* of a wait, at most */

static struct soc *soc_of(void *context) { return ((const struct soc_view *)context)->soc; }

static uint8_t *window_of(void *context) {
  return soc_memory(soc_of(context)) + ((const struct soc_view *)context)->window_base;
}

static uint32_t read_register(void *context, uint32_t address) { return soc_read(soc_of(context), address); }

static void write_register(void *context, uint32_t address, uint32_t value) {
  soc_write(soc_of(context), address, value);
}

static void write_memory(void *context, uint32_t offset, const uint8_t *bytes, uint32_t count) {
  memcpy(window_of(context) + offset, bytes, count);
}

static void read_memory(void *context, uint32_t offset, uint8_t *bytes, uint32_t count) {
  memcpy(bytes, window_of(context) + offset, count);
}

static void wait_for_interrupt(void *context) { (void)soc_wait(soc_of(context), WAIT_CYCLES); }

void soc_platform(const struct soc_view *view, uint32_t window_bytes, bool waits, struct eyrie_platform *platform) {
  static const uint32_t sizes[EYRIE_SIZES] = CONFIG_SIZES;
  platform->context = (void *)view;
  platform->read_register = read_register;
  platform->write_register = write_register;
  platform->write_memory = write_memory;
  platform->read_memory = read_memory;
  platform->wait = waits ? wait_for_interrupt : NULL;
  platform->window_base = view->window_base;
  platform->window_bytes = window_bytes;
  memcpy(platform->sizes, sizes, sizeof sizes);
}

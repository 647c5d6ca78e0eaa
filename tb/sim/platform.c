/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated machine as the platform of a C program. Decimal numbers of the environment say what it is like:
 *   SIMULATION_SEED, SIMULATION_LATENCY      as simulation_open has them
 *   SIMULATION_BASE, SIMULATION_WINDOW       the window's first byte, and its bytes
 *   SIMULATION_MEMORY                        bytes of DRAM that there are, from address 0
 *   SIMULATION_POLLS                         1: the program polls, and gets no interrupt
 * MACHINE_SIZES, a macro, has the sizes of the machine that is linked.
 */

#include "platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

#define WAIT_CYCLES 100000u /* of a wait, at most */

static uint32_t window_base;

static unsigned long long number_of(const char *name) {
  const char *text = getenv(name);
  if (text == NULL) {
    fprintf(stderr, "%s is not set\n", name);
    exit(2);
  }
  return strtoull(text, NULL, 10);
}

static uint32_t read_register(void *context, uint32_t address) {
  (void)context;
  return simulation_read(address);
}

static void write_register(void *context, uint32_t address, uint32_t value) {
  (void)context;
  simulation_write(address, value);
}

static void write_memory(void *context, uint32_t offset, const uint8_t *bytes, uint32_t count) {
  (void)context;
  memcpy(simulation_memory() + window_base + offset, bytes, count);
}

static void read_memory(void *context, uint32_t offset, uint8_t *bytes, uint32_t count) {
  (void)context;
  memcpy(bytes, simulation_memory() + window_base + offset, count);
}

static void wait_for_interrupt(void *context) {
  (void)context;
  (void)simulation_wait(WAIT_CYCLES);
}

void platform_open(struct eyrie_platform *platform) {
  static const uint32_t sizes[EYRIE_SIZES] = MACHINE_SIZES;
  simulation_open((uint32_t)number_of("SIMULATION_SEED"), (uint16_t)number_of("SIMULATION_LATENCY"),
                  number_of("SIMULATION_MEMORY"));
  window_base = (uint32_t)number_of("SIMULATION_BASE");
  platform->context = NULL;
  platform->read_register = read_register;
  platform->write_register = write_register;
  platform->write_memory = write_memory;
  platform->read_memory = read_memory;
  platform->wait = number_of("SIMULATION_POLLS") == 1 ? NULL : wait_for_interrupt;
  platform->window_base = window_base;
  platform->window_bytes = (uint32_t)number_of("SIMULATION_WINDOW");
  memcpy(platform->sizes, sizes, sizeof sizes);
}

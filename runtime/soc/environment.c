/* SPDX-License-Identifier: Apache-2.0
 *
 * The platform of C programs that run on a simulated SoC. Decimal numbers of the environment say what it is like:
 *   SOC_SEED, SOC_LATENCY, SOC_INTERVAL   as soc_open has them
 *   SOC_BASE, SOC_WINDOW    the window's first byte, and its bytes
 *   SOC_MEMORY                bytes of DRAM that there are, from address 0
 *   SOC_POLLS                 1: the program polls, and gets no interrupt
 */

#include <stdio.h>
#include <stdlib.h>

#include "soc.h"
#include "platform.h"

static unsigned long long number_of(const char *name) {
  const char *text = getenv(name);
  if (text == NULL) {
    fprintf(stderr, "%s is not set\n", name);
    exit(2);
  }
  return strtoull(text, NULL, 10);
}

void platform_open(struct eyrie_platform *platform) {
  static struct soc_view view;
  view.soc = soc_open((uint32_t)number_of("SOC_SEED"), (uint16_t)number_of("SOC_LATENCY"),
                      (uint8_t)number_of("SOC_INTERVAL"), number_of("SOC_MEMORY"), NULL);
  view.window_base = (uint32_t)number_of("SOC_BASE");
  soc_platform(&view, (uint32_t)number_of("SOC_WINDOW"), number_of("SOC_POLLS") != 1, platform);
}

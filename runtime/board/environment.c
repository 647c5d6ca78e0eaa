/* SPDX-License-Identifier: Apache-2.0
 *
 * The platform of C programs that run on a board. Decimal numbers of the environment say what it is like:
 *   BOARD_SEED, BOARD_LATENCY   as board_open has them
 *   BOARD_BASE, BOARD_WINDOW    the window's first byte, and its bytes
 *   BOARD_MEMORY                bytes of DRAM that there are, from address 0
 *   BOARD_POLLS                 1: the program polls, and gets no interrupt
 */

#include <stdio.h>
#include <stdlib.h>

#include "board.h"
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
  static struct board_view view;
  view.board = board_open((uint32_t)number_of("BOARD_SEED"), (uint16_t)number_of("BOARD_LATENCY"),
                          number_of("BOARD_MEMORY"));
  view.window_base = (uint32_t)number_of("BOARD_BASE");
  board_platform(&view, (uint32_t)number_of("BOARD_WINDOW"), number_of("BOARD_POLLS") != 1, platform);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated board: the whole machine and its DRAM (board.sv) as a program sees them that is linked to them, registers
 * behind AXI4-Lite, and a clock that runs while the program accesses a register or waits. A program may have several
 * boards; each is used by one thread at a time, which may be another one for each call.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct board;
struct eyrie_platform;

/* A board after its reset. seed: of the start values of its registers and memories; latency: of the DRAM, in cycles;
 * memory_bytes: of DRAM that there are, from address 0: the rest of the 4 GiB answers DECERR. */
struct board *board_open(uint32_t seed, uint16_t latency, uint64_t memory_bytes);

/* Ends a board; NULL is none. */
void board_close(struct board *board);

/* The DRAM's first byte: 4 GiB, of which pages exist that are touched. */
uint8_t *board_memory(struct board *board);

/* Whether the DRAM's bus answers: false stops all of its channels where they are. */
void board_bus(struct board *board, bool answers);

/* Accesses a register, by its byte address. */
uint32_t board_read(struct board *board, uint32_t address);
void board_write(struct board *board, uint32_t address, uint32_t value);

/* Runs the clock until the interrupt, for at most so many cycles; returns whether it is there. */
bool board_wait(struct board *board, uint32_t cycles);

/* What board.sv has noted at the end of a pass of the last run: entry `select`, as its trace_select_i has them. */
uint64_t board_trace(struct board *board, uint16_t pass, uint8_t select);

/* Cycles since the reset. */
uint64_t board_cycles(const struct board *board);

/* A board as the driver's platform: fills in `platform`, the context being `view`, which has to stay. window_bytes: as
 * struct eyrie_platform has them; waits: the driver waits for the interrupt instead of polling. */
struct board_view {
  struct board *board;
  uint32_t window_base;
};
void board_platform(const struct board_view *view, uint32_t window_bytes, bool waits, struct eyrie_platform *platform);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated SoC: the whole accelerator and its DRAM (soc.sv) as a program sees them that is linked to them, registers
 * behind AXI4-Lite, and a clock that runs while the program accesses a register or waits. A program may have several
 * simulated SoCs; each is used by one thread at a time, which may be another one for each call.
 */
#ifndef SOC_H
#define SOC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct soc;
struct eyrie_platform;

/* A simulated SoC after its reset. seed: of the start values of its registers and memories; latency and interval: of
 * the DRAM, in cycles (dram_latency and dram_interval of the configuration); memory_bytes: of DRAM that there are, from
 * address 0: the rest of the 4 GiB answers DECERR; events: file for the events of the first run (event_recorder.sv), or
 * NULL. */
struct soc *soc_open(uint32_t seed, uint16_t latency, uint8_t interval, uint64_t memory_bytes, const char *events);

/* Ends a simulated SoC; NULL is none. */
void soc_close(struct soc *soc);

/* The DRAM's first byte: 4 GiB, of which pages exist that are touched. */
uint8_t *soc_memory(struct soc *soc);

/* Whether the DRAM's bus answers: false stops all of its channels where they are. */
void soc_bus(struct soc *soc, bool answers);

/* Accesses a register, by its byte address. */
uint32_t soc_read(struct soc *soc, uint32_t address);
void soc_write(struct soc *soc, uint32_t address, uint32_t value);

/* Runs the clock until the interrupt, for at most so many cycles; returns whether it is there. */
bool soc_wait(struct soc *soc, uint32_t cycles);

/* What soc.sv has noted at the end of a pass of the last run: entry `select`, as its trace_select_i has them. */
uint64_t soc_trace(struct soc *soc, uint16_t pass, uint8_t select);

/* Cycles since the reset. */
uint64_t soc_cycles(const struct soc *soc);

/* A simulated SoC as the driver's platform: fills in `platform`, the context being `view`, which has to stay. window_bytes: as
 * struct eyrie_platform has them; waits: the driver waits for the interrupt instead of polling. */
struct soc_view {
  struct soc *soc;
  uint32_t window_base;
};
void soc_platform(const struct soc_view *view, uint32_t window_bytes, bool waits, struct eyrie_platform *platform);

#ifdef __cplusplus
}
#endif

#endif

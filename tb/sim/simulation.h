/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated chip and its DRAM, as a program sees them that is linked to them: the whole machine (tb_top), its
 * registers behind AXI4-Lite, and a clock that runs while the program accesses a register or waits.
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Resets the chip. seed: of the start values of its registers and memories; latency: of the DRAM, in cycles;
 * memory_bytes: of DRAM that there are, from address 0: the rest of the 4 GiB answers DECERR. Once in a process. */
void simulation_open(uint32_t seed, uint16_t latency, uint64_t memory_bytes);

/* The DRAM's first byte: 4 GiB, of which pages exist that are touched. */
uint8_t *simulation_memory(void);

/* Whether the DRAM's bus answers: false stops all of its channels where they are. */
void simulation_bus(bool answers);

/* Accesses a register, by its byte address. */
uint32_t simulation_read(uint32_t address);
void simulation_write(uint32_t address, uint32_t value);

/* Runs the clock until the interrupt, for at most so many cycles; returns whether it is there. */
bool simulation_wait(uint32_t cycles);

/* Wall-clock seconds since some moment. */
double simulation_seconds(void);

#ifdef __cplusplus
}
#endif

#endif

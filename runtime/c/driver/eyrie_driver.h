/* SPDX-License-Identifier: Apache-2.0
 *
 * Driver of an Eyrie accelerator: C99 without an operating system, also C++17. docs/howto/driver.md has an example.
 *
 * The platform says how to reach registers and memory. A network is what `eyrie compile` writes: image.bin, and
 * network.h, which describes it. A run: eyrie_open and eyrie_load once, then eyrie_put_input, eyrie_run and
 * eyrie_get_output for each image, or for as many images as the network was compiled for.
 *
 * Every function returns EYRIE_OK or says why it did nothing; none waits without a limit. A device belongs to one
 * thread: an interrupt handler may call eyrie_acknowledge and nothing else.
 */
#ifndef EYRIE_DRIVER_H
#define EYRIE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eyrie_registers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum eyrie_result {
  EYRIE_OK,
  EYRIE_BAD_ARGUMENT,  /* a pointer that is NULL, a device that is not open, a number that means nothing */
  EYRIE_BAD_PLATFORM,  /* a function is missing, or the window is none */
  EYRIE_NO_ACCELERATOR,    /* the identity register does not read as that of an accelerator */
  EYRIE_BAD_NETWORK,   /* description or command list contradict themselves */
  EYRIE_OTHER_CONFIGURATION, /* the network was compiled for other sizes than the platform's */
  EYRIE_OTHER_IMAGE,   /* the bytes are not those that the network's description goes with */
  EYRIE_NO_ROOM,       /* the network is larger than the window */
  EYRIE_BAD_SIZE,      /* the values are not as many as the map has */
  EYRIE_NOT_LOADED,    /* there is no network */
  EYRIE_NOT_STARTED,   /* no run of the network has begun, or a reset ended it */
  EYRIE_BUSY,          /* a run has not ended */
  EYRIE_ACCELERATOR_ERROR, /* the accelerator stopped: see eyrie_get_error, then eyrie_reset */
  EYRIE_TIMEOUT,       /* the limit came first; the accelerator goes on */
  EYRIE_BUS_WAITS,     /* the memory does not answer, and a reset waits for it: it ends with the answer or rst_ni */
  /* Of the operator library (eyrie.h): */
  EYRIE_BAD_DESCRIPTOR, /* not created, not set, destroyed, or descriptors that do not go together */
  EYRIE_BAD_POINTER,    /* no allocation, one that is too small, or an output that overlaps what is read */
  EYRIE_NO_MEMORY,      /* the window has no room, or the library no entry for another allocation */
  EYRIE_NOT_SUPPORTED,  /* the accelerator does not run the operator */
  EYRIE_NOT_COMPILED,   /* there is no program for the operator, and nothing that compiles one */
  EYRIE_CLOSED,         /* the handle is destroyed */
  EYRIE_OTHER_LIBRARY,  /* the library was compiled from another eyrie.h, or with other limits, than the caller */
  EYRIE_RESULTS         /* how many there are */
};

/* How software reaches the accelerator and its window of DRAM. Functions get `context`; offsets are from the window's
 * first byte. What write_memory writes has to be in the DRAM, and read_memory has to read the DRAM, when they return:
 * where there is a cache, they see to it. */
struct eyrie_platform {
  void *context;
  uint32_t (*read_register)(void *context, uint32_t address);
  void (*write_register)(void *context, uint32_t address, uint32_t value);
  void (*write_memory)(void *context, uint32_t offset, const uint8_t *bytes, uint32_t count);
  void (*read_memory)(void *context, uint32_t offset, uint8_t *bytes, uint32_t count);
  void (*wait)(void *context);  /* returns at the interrupt, or after a while; NULL: STATUS is polled */
  uint32_t window_base;         /* where the window begins for the accelerator, a multiple of 64 */
  uint32_t window_bytes;        /* a multiple of 64; the window ends below 2^32 */
  uint32_t sizes[EYRIE_SIZES];  /* of the accelerator, by enum eyrie_size: EYRIE_DEFAULT_SIZES, for one */
};

/* An input that lies as patches: each pixel in DRAM has the values of height x width pixels of the input, in C order, as
 * its channels. The patch (y, x) begins at row y * row_step - top and column x * column_step - left; what is outside the
 * input is its zero point. */
struct eyrie_patches {
  uint32_t rows, cols;  /* patches; 0: a map that lies as it is */
  uint32_t height, width;
  uint32_t row_step, column_step;
  uint32_t top, left;
};

/* A map that goes in or out: int8 [height][width][channels]. A value q stands for scale * (q - zero_point).
 * In DRAM a map is rows of [group of 8 channels][x], a pixel in a 64-bit word, channel 0 in its first byte; in a packed
 * map, of at most 4 channels, two pixels share a word. */
struct eyrie_map {
  const char *name;    /* as the model has it */
  uint32_t address;    /* of the first image's, from the network's first byte; the others follow */
  uint32_t height, width, channels;
  uint32_t groups;     /* of a row */
  uint32_t pitch;      /* words of a row of a group */
  bool packed;
  float scale;
  int32_t zero_point;
  struct eyrie_patches patches;  /* of an input */
};

/* What network.h says of a compiled network. Addresses are from its first byte. */
struct eyrie_network {
  uint32_t bytes;      /* of image.bin, and of DRAM */
  uint32_t crc;        /* CRC-32 of image.bin */
  uint32_t program;    /* address of the command list */
  uint32_t program_bytes;
  uint32_t images;     /* that a run takes */
  uint32_t sizes[EYRIE_SIZES];  /* of the accelerator that it runs on */
  uint32_t input_count, output_count;
  const struct eyrie_map *inputs, *outputs;
};

/* Where a network lies in the window, and its maps, if they are not in it. Offsets are from the window's first byte. */
struct eyrie_placement {
  uint32_t offset;          /* of the network, a multiple of 64 */
  const uint32_t *inputs;   /* of each input's first image, multiples of 8; NULL: they lie in the network */
  const uint32_t *outputs;  /* as well */
};

/* An accelerator in use: nobody's but the driver's. */
struct eyrie_device {
  struct eyrie_platform platform;
  const struct eyrie_network *network;  /* that is loaded, or NULL */
  struct eyrie_placement placement;     /* of that */
  uint32_t watchdog;
  bool interrupt;
  bool started;  /* a run of this network */
};

/* Why a run stopped. */
struct eyrie_error {
  enum eyrie_error_code code;
  uint32_t address;  /* DRAM address of the command */
  uint32_t place;    /* its place in the command list, in words; UINT32_MAX: not in the list */
};

/* A text of one line, without a full stop; of any number. */
const char *eyrie_result_text(enum eyrie_result result);
const char *eyrie_error_text(enum eyrie_error_code code);
const char *eyrie_counter_name(enum eyrie_counter counter);

/* Takes an accelerator, and resets it if it is not idle. The platform is copied. */
enum eyrie_result eyrie_open(struct eyrie_device *device, const struct eyrie_platform *platform);

/* Writes a network into the window, from its first byte on: image.bin's bytes, and the window's address added to the
 * addresses in its command list. `network` has to stay; `image` need not. */
enum eyrie_result eyrie_load(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             size_t bytes);

/* eyrie_load anywhere in the window: several networks have room in it, and what one writes another can read. The arrays
 * of the placement have to stay. */
enum eyrie_result eyrie_place(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                              size_t bytes, const struct eyrie_placement *placement);

/* Takes a network that has been placed there before, with other places of its maps perhaps: writes the addresses in its
 * command list, and nothing else. */
enum eyrie_result eyrie_bind(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             const struct eyrie_placement *placement);

/* Writes an input of one of the images of a run, int8 [height][width][channels] in C order. Inputs stay until they are
 * written again. */
enum eyrie_result eyrie_put_input(struct eyrie_device *device, uint32_t input, uint32_t image, const int8_t *values,
                                  size_t count);

/* Reads an output as well, of the run that has ended. */
enum eyrie_result eyrie_get_output(struct eyrie_device *device, uint32_t output, uint32_t image, int8_t *values,
                                   size_t count);

/* Begins a run. */
enum eyrie_result eyrie_start(struct eyrie_device *device);

/* EYRIE_OK: the run has ended well; EYRIE_BUSY: it has not ended; EYRIE_ACCELERATOR_ERROR. */
enum eyrie_result eyrie_poll(struct eyrie_device *device);

/* Polls until the run has ended, `looks` times at most, each after the platform's wait if it has one; then clears the
 * interrupt. */
enum eyrie_result eyrie_wait(struct eyrie_device *device, uint32_t looks);

/* eyrie_start and eyrie_wait. */
enum eyrie_result eyrie_run(struct eyrie_device *device, uint32_t looks);

/* Why the last run stopped; EYRIE_ERROR_NONE if it did not. */
enum eyrie_result eyrie_get_error(struct eyrie_device *device, struct eyrie_error *error);

/* Stops whatever runs, and looks at most `looks` times whether the accelerator is idle. The network stays loaded, though a
 * run that was stopped may have left anything in the memory that the network writes. */
enum eyrie_result eyrie_reset(struct eyrie_device *device, uint32_t looks);

/* Reads a counter, or all EYRIE_COUNTERS, of the run that goes on or was the last. */
enum eyrie_result eyrie_get_counter(struct eyrie_device *device, enum eyrie_counter counter, uint64_t *value);
enum eyrie_result eyrie_get_counters(struct eyrie_device *device, uint64_t *values);

/* Cycles without progress after which the accelerator stops; 0: never. EYRIE_WATCHDOG_CYCLES until it is said. Counts from
 * the next start. */
#define EYRIE_WATCHDOG_CYCLES 1000000u
enum eyrie_result eyrie_set_watchdog(struct eyrie_device *device, uint32_t cycles);

/* Whether the end of a run raises the interrupt: it does if the platform has a wait, until something else is said. */
enum eyrie_result eyrie_enable_interrupt(struct eyrie_device *device, bool enable);

/* Takes the interrupt back. */
enum eyrie_result eyrie_acknowledge(struct eyrie_device *device);

/* A platform whose registers and window are places in memory: fills in its functions, the context being `mapping`,
 * which has to stay. There is no wait and no care of caches. */
struct eyrie_mapping {
  volatile uint32_t *registers;
  volatile uint8_t *memory;
};
enum eyrie_result eyrie_map_platform(struct eyrie_platform *platform, struct eyrie_mapping *mapping);

#ifdef __cplusplus
}
#endif

#endif

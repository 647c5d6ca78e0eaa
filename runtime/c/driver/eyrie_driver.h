/* SPDX-License-Identifier: Apache-2.0
 *
 * Driver of an Eyrie accelerator: C99 without an operating system, also C++17. docs/howto/driver.md has an example.
 *
 * The platform accesses registers and memory. `eyrie compile` writes a network as image.bin and its description
 * network.h. Call eyrie_open and eyrie_load once, then eyrie_put_input, eyrie_run and eyrie_get_output for each image,
 * or for all images that the network processes together.
 *
 * Every function returns EYRIE_OK, or the reason why it had no effect. Every wait has a limit. A device belongs to one
 * thread; an interrupt handler may only call eyrie_acknowledge.
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
  EYRIE_BAD_ARGUMENT,  /* a NULL pointer, a device that is not open, or an invalid number */
  EYRIE_BAD_PLATFORM,  /* a function is missing, or the window is invalid */
  EYRIE_NO_ACCELERATOR, /* the identity register has another value than an accelerator's */
  EYRIE_BAD_NETWORK,   /* description or command list is inconsistent */
  EYRIE_OTHER_CONFIGURATION, /* the network was compiled for another configuration than the platform's */
  EYRIE_OTHER_IMAGE,   /* the bytes do not belong to the description of the network */
  EYRIE_NO_ROOM,       /* the network is larger than the window */
  EYRIE_BAD_SIZE,      /* the number of values differs from the map's */
  EYRIE_NOT_LOADED,    /* no network is loaded */
  EYRIE_NOT_STARTED,   /* no run of the network has begun, or a reset ended it */
  EYRIE_BUSY,          /* a run has not ended */
  EYRIE_ACCELERATOR_ERROR, /* the accelerator stopped: see eyrie_get_error, then eyrie_reset */
  EYRIE_TIMEOUT,       /* the limit was reached; the accelerator still runs */
  EYRIE_BUS_WAITS,     /* the memory does not answer, and a reset waits for it; only an answer or rst_ni ends it */
  /* Results of the operator library (eyrie.h): */
  EYRIE_BAD_DESCRIPTOR, /* not created, not set or destroyed, or descriptors that do not fit together */
  EYRIE_BAD_POINTER,    /* not inside an allocation, a too small allocation, or an output that overlaps an input */
  EYRIE_NO_MEMORY,      /* the window is full, or the table of allocations */
  EYRIE_NOT_SUPPORTED,  /* the accelerator does not run the operator */
  EYRIE_NOT_COMPILED,   /* no program for the operator, and no compile function */
  EYRIE_CLOSED,         /* the handle is destroyed */
  EYRIE_OTHER_LIBRARY,  /* the library was compiled from another eyrie.h, or with other limits, than the caller */
  EYRIE_RESULTS         /* number of results */
};

/* The access to the accelerator and its window of DRAM. The functions get `context`; offsets are from the window's
 * first byte. write_memory returns after its bytes are in the DRAM, and read_memory reads the DRAM; with a cache, they
 * flush or invalidate it. */
struct eyrie_platform {
  void *context;
  uint32_t (*read_register)(void *context, uint32_t address);
  void (*write_register)(void *context, uint32_t address, uint32_t value);
  void (*write_memory)(void *context, uint32_t offset, const uint8_t *bytes, uint32_t count);
  void (*read_memory)(void *context, uint32_t offset, uint8_t *bytes, uint32_t count);
  void (*wait)(void *context);  /* returns at the interrupt, or after a while; NULL: the driver polls STATUS */
  uint32_t window_base;         /* first DRAM byte of the window, a multiple of 64 */
  uint32_t window_bytes;        /* a multiple of 64; the window ends below 2^32 */
  uint32_t sizes[EYRIE_SIZES];  /* the configuration, by enum eyrie_size; for example EYRIE_DEFAULT_SIZES */
};

/* An input in space-to-depth layout: each pixel in DRAM has the values of height x width pixels of the input as its
 * channels, in C order. The patch (y, x) begins at row y * row_step - top and column x * column_step - left; values
 * outside the input are its zero point, or its table's. */
struct eyrie_patches {
  uint32_t rows, cols;  /* number of patches; 0: not in this layout */
  uint32_t height, width;
  uint32_t row_step, column_step;
  uint32_t top, left;
};

/* Values that are written instead of an input's own, for -128 to 127, and their zero point. */
struct eyrie_table {
  int8_t values[256];
  int32_t zero_point;
};

/* An input or output: int8 [height][width][channels]. A value q stands for scale * (q - zero_point). In DRAM a map is
 * rows of [group of 8 channels][x], with a pixel in each 64-bit word and channel 0 in its first byte. In a packed map,
 * of at most 4 channels, two pixels share a word. */
struct eyrie_map {
  const char *name;    /* name in the model */
  uint32_t address;    /* of the first image, from the network's first byte; further images follow */
  uint32_t height, width, channels;
  uint32_t groups;     /* groups of a row */
  uint32_t pitch;      /* words of a row of a group */
  bool packed;
  float scale;
  int32_t zero_point;
  struct eyrie_patches patches;  /* of an input */
  const struct eyrie_table *table;  /* of an input; NULL: its values are written as they are */
};

/* Description of a compiled network, from network.h. Addresses are from its first byte. */
struct eyrie_network {
  uint32_t bytes;      /* of image.bin, and of DRAM */
  uint32_t crc;        /* CRC-32 of image.bin */
  uint32_t program;    /* address of the command list */
  uint32_t program_bytes;
  uint32_t images;     /* images of a run */
  uint32_t sizes[EYRIE_SIZES];  /* configuration of the accelerator */
  uint32_t input_count, output_count;
  const struct eyrie_map *inputs, *outputs;
};

/* The address of a network in the window, and of its maps if they are outside of it. Offsets are from the window's
 * first byte. */
struct eyrie_placement {
  uint32_t offset;          /* of the network, a multiple of 64 */
  const uint32_t *inputs;   /* of each input's first image, multiples of 8; NULL: inside the network */
  const uint32_t *outputs;  /* of each output's first image, like inputs */
};

/* An accelerator in use. The fields are private. */
struct eyrie_device {
  struct eyrie_platform platform;
  const struct eyrie_network *network;  /* the loaded network, or NULL */
  struct eyrie_placement placement;     /* of the loaded network */
  uint32_t watchdog;
  bool interrupt;
  bool started;  /* a run of this network */
};

/* The error that stopped a run. */
struct eyrie_error {
  enum eyrie_error_code code;
  uint32_t address;  /* DRAM address of the command */
  uint32_t place;    /* index of its word in the command list; UINT32_MAX: not in the list */
};

/* Return a text of one line without a full stop, for any number. */
const char *eyrie_result_text(enum eyrie_result result);
const char *eyrie_error_text(enum eyrie_error_code code);
const char *eyrie_counter_name(enum eyrie_counter counter);

/* Open an accelerator, and reset it if it is not idle. The platform is copied. */
enum eyrie_result eyrie_open(struct eyrie_device *device, const struct eyrie_platform *platform);

/* Write a network to the beginning of the window: the bytes of image.bin, with the window's address added to the
 * addresses in the command list. `network` must stay valid; `image` need not. */
enum eyrie_result eyrie_load(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             size_t bytes);

/* Write a network to any place in the window. Several networks can share the window, and one can read the outputs of
 * another. The arrays of the placement must stay valid. */
enum eyrie_result eyrie_place(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                              size_t bytes, const struct eyrie_placement *placement);

/* Select a network that was placed there before, possibly with other addresses of its maps. Only the addresses in the
 * command list are written. */
enum eyrie_result eyrie_bind(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             const struct eyrie_placement *placement);

/* Write an input of one image of a run, int8 [height][width][channels] in C order. Inputs keep their values until they
 * are written again. */
enum eyrie_result eyrie_put_input(struct eyrie_device *device, uint32_t input, uint32_t image, const int8_t *values,
                                  size_t count);

/* Read an output of one image of the ended run, int8 [height][width][channels] in C order. */
enum eyrie_result eyrie_get_output(struct eyrie_device *device, uint32_t output, uint32_t image, int8_t *values,
                                   size_t count);

/* Start a run. */
enum eyrie_result eyrie_start(struct eyrie_device *device);

/* Look at the run. EYRIE_OK: it has ended without error; EYRIE_BUSY: it has not ended; EYRIE_ACCELERATOR_ERROR. */
enum eyrie_result eyrie_poll(struct eyrie_device *device);

/* Poll until the run has ended, at most `looks` times, each after the platform's wait; then clear the interrupt. */
enum eyrie_result eyrie_wait(struct eyrie_device *device, uint32_t looks);

/* Call eyrie_start and eyrie_wait. */
enum eyrie_result eyrie_run(struct eyrie_device *device, uint32_t looks);

/* Get the error that stopped the last run; EYRIE_ERROR_NONE if it did not stop. */
enum eyrie_result eyrie_get_error(struct eyrie_device *device, struct eyrie_error *error);

/* Stop the run, and poll at most `looks` times until the accelerator is idle. The network stays loaded; after a
 * stopped run the memory that the network writes has undefined contents. */
enum eyrie_result eyrie_reset(struct eyrie_device *device, uint32_t looks);

/* Read a counter, or all EYRIE_COUNTERS, of the current or last run. */
enum eyrie_result eyrie_get_counter(struct eyrie_device *device, enum eyrie_counter counter, uint64_t *value);
enum eyrie_result eyrie_get_counters(struct eyrie_device *device, uint64_t *values);

/* Set the cycles without progress after which the accelerator stops; 0: never. The default is EYRIE_WATCHDOG_CYCLES.
 * The value applies from the next start. */
#define EYRIE_WATCHDOG_CYCLES 1000000u
enum eyrie_result eyrie_set_watchdog(struct eyrie_device *device, uint32_t cycles);

/* Set whether the end of a run raises the interrupt. The default is yes if the platform has a wait. */
enum eyrie_result eyrie_enable_interrupt(struct eyrie_device *device, bool enable);

/* Clear the interrupt. */
enum eyrie_result eyrie_acknowledge(struct eyrie_device *device);

/* Fill in the functions of a platform whose registers and window are mapped into memory. Its context is `mapping`,
 * which must stay valid. It has no wait, and does not flush caches. */
struct eyrie_mapping {
  volatile uint32_t *registers;
  volatile uint8_t *memory;
};
enum eyrie_result eyrie_map_platform(struct eyrie_platform *platform, struct eyrie_mapping *mapping);

#ifdef __cplusplus
}
#endif

#endif

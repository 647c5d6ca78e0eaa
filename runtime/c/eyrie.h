/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators one by one on an Eyrie accelerator: C99 without an operating system and without a heap, also C++17, on the
 * driver (driver/eyrie_driver.h). docs/howto/operators.md says what the calls have in common with those of Python, and where
 * the programs come from.
 *
 * Every function returns EYRIE_OK or says why it did nothing. A handle, its streams and its allocations belong to one
 * thread.
 */
#ifndef EYRIE_H
#define EYRIE_H

#include "eyrie_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of what this file declares: a library of another version is rejected. */
#define EYRIE_VERSION 1u

/* May be defined before, the same for the library and for who uses it, as eyrie_create_handle checks: a handle has room
 * for so many allocations, programs that lie in the memory among them, and so many operators that wait, of all streams:
 * where there are more a call waits; looks at an accelerator that has not ended: its watchdog comes first. */
#ifndef EYRIE_MOST_ALLOCATIONS
#define EYRIE_MOST_ALLOCATIONS 256u
#endif
#ifndef EYRIE_MOST_OPERATIONS
#define EYRIE_MOST_OPERATIONS 32u
#endif
#ifndef EYRIE_LOOKS
#define EYRIE_LOOKS 1000000000u
#endif
#define EYRIE_MESSAGE_BYTES 1024u
#define EYRIE_NO_BIAS UINT32_MAX

/* ---- Descriptors: created, set (again, if one likes), got, destroyed ---- */

/* int8 [n][h][w][c]; a value q stands for scale * (q - zero_point). */
struct eyrie_tensor_setting {
  uint32_t n, h, w, c;
  float scale;
  int32_t zero_point;
};

/* int8 [m][r][s][c], c the channels of a group; of fully connected layers r and s are 1. scales: one of all filters, or
 * m of them; they have to stay while the descriptor is used. */
struct eyrie_filter_setting {
  uint32_t m, r, s, c;
  const float *scales;
  uint32_t scale_count;
};

/* Functions; of those that a convolution or an addition is fused with there are the first four. */
enum eyrie_function {
  EYRIE_NONE,
  EYRIE_RELU,
  EYRIE_RELU6,
  EYRIE_RELU_N1_TO_1,
  EYRIE_LEAKY_RELU,
  EYRIE_LOGISTIC,
  EYRIE_TANH,
  EYRIE_HARD_SWISH,
  EYRIE_ELU,
  EYRIE_EXP,
  EYRIE_FUNCTIONS /* how many there are */
};

/* stride, dilation: vertical, horizontal; pads: top, bottom, left, right; groups: of channels, each with filters of its
 * own: as many as channels for a depthwise convolution. */
struct eyrie_convolution_setting {
  uint32_t stride[2], dilation[2], pads[4], groups;
  enum eyrie_function fused;
};

enum eyrie_pooling_kind { EYRIE_MAX, EYRIE_AVERAGE };

struct eyrie_pooling_setting {
  enum eyrie_pooling_kind kind;
  uint32_t kernel[2], stride[2], pads[4];
};

/* alpha: the slope of EYRIE_LEAKY_RELU for negative values. */
struct eyrie_activation_setting {
  enum eyrie_function function;
  float alpha;
};

/* A descriptor, and its functions: eyrie_create_tensor_descriptor(&descriptor) and so on. */
#define EYRIE_DESCRIPTOR(kind)                                                                                      \
  struct eyrie_##kind##_descriptor {                                                                                \
    uint32_t state; /* the library's */                                                                             \
    struct eyrie_##kind##_setting setting;                                                                          \
  };                                                                                                                \
  enum eyrie_result eyrie_create_##kind##_descriptor(struct eyrie_##kind##_descriptor *descriptor);                 \
  enum eyrie_result eyrie_set_##kind##_descriptor(struct eyrie_##kind##_descriptor *descriptor,                     \
                                                  const struct eyrie_##kind##_setting *setting);                    \
  enum eyrie_result eyrie_get_##kind##_descriptor(const struct eyrie_##kind##_descriptor *descriptor,               \
                                                  struct eyrie_##kind##_setting *setting);                          \
  enum eyrie_result eyrie_destroy_##kind##_descriptor(struct eyrie_##kind##_descriptor *descriptor)

EYRIE_DESCRIPTOR(tensor);
EYRIE_DESCRIPTOR(filter);
EYRIE_DESCRIPTOR(convolution);
EYRIE_DESCRIPTOR(pooling);
EYRIE_DESCRIPTOR(activation);

/* Bytes in the accelerator's memory: of a tensor as its maps lie there, of filters in C order. */
enum eyrie_result eyrie_get_tensor_bytes(const struct eyrie_tensor_descriptor *descriptor, uint32_t *bytes);
enum eyrie_result eyrie_get_filter_bytes(const struct eyrie_filter_descriptor *descriptor, uint32_t *bytes);

/* ---- Programs ---- */

/* A program of an operator. key: what it is for, a line of text (docs/howto/operators.md). */
struct eyrie_program {
  const char *key;
  const struct eyrie_network *network;
  const uint8_t *image;
};

/* Which program is wanted. Filters and bias (int32, lowest byte first) are offsets in the window, whose bytes
 * platform->read_memory gives; 0 bytes: there are none. */
struct eyrie_request {
  const char *key;
  const struct eyrie_platform *platform;
  const float *scales;
  uint32_t scale_count;
  uint32_t filters, filter_bytes;
  uint32_t bias, bias_bytes;
  char *message; /* EYRIE_MESSAGE_BYTES, to say in a line why there is none: over the key, which is in them */
};

/* Where programs come from: a table that was compiled ahead of time, and for what is not in it a function, if there is
 * one. compile gives a program, which has to stay, or returns EYRIE_NOT_SUPPORTED or EYRIE_NOT_COMPILED. */
struct eyrie_programs {
  const struct eyrie_program *table;
  uint32_t count;
  enum eyrie_result (*compile)(void *context, const struct eyrie_request *request,
                               const struct eyrie_program **program);
  void *context;
};

/* The programs that the application is linked with: of what `eyrie operators --c` wrote, or of a simulated SoC's. */
const struct eyrie_programs *eyrie_linked_programs(void);

/* ---- A handle ---- */

struct eyrie_handle;

/* Operators in the order in which they are given; one that fails ends those behind it. Nobody's but the library's. */
struct eyrie_stream {
  struct eyrie_handle *handle;
  struct eyrie_stream *next;
  uint32_t waiting;            /* operators that have not ended */
  enum eyrie_result failure;
  const char *failure_text;
  uint32_t failure_bytes;      /* of the program of the operator that failed */
  uint64_t running_cycles, cycles;
};

struct eyrie_allocation {
  uint32_t place, bytes;
  const struct eyrie_program *program; /* that lies there; NULL: the application's */
  uint32_t used;                       /* when, of a program */
  uint32_t digested;                   /* bytes that the digest is of; 0: there is none */
  uint8_t digest[32];
};

struct eyrie_operation {
  struct eyrie_stream *stream;
  const struct eyrie_program *program; /* NULL: a softmax, which the host does */
  struct eyrie_tensor_setting tensors[3];
  uint32_t places[3];                  /* of the output, and of the inputs */
  uint32_t inputs, map;                /* how many; the map that runs */
  float beta;
};

/* An accelerator in use: nobody's but the library's, except for `stream`, which is its own stream. State and message come
 * first, so that a library with other limits finds them. */
struct eyrie_handle {
  uint32_t state;
  char message[EYRIE_MESSAGE_BYTES];
  struct eyrie_device device;
  struct eyrie_stream stream;
  const struct eyrie_programs *programs;
  struct eyrie_allocation allocations[EYRIE_MOST_ALLOCATIONS]; /* by their places */
  uint32_t allocation_count, clock;
  struct eyrie_operation operations[EYRIE_MOST_OPERATIONS];
  uint32_t first_operation, operation_count;
  bool running, stopped; /* the first operation on the accelerator; the accelerator has to be reset */
  uint32_t inputs[2], output;
};

/* What a caller was compiled with. */
struct eyrie_caller {
  uint32_t version, most_allocations, most_operations;
  size_t handle_bytes;
};

/* Is eyrie_create_handle, which says what its caller was compiled with. */
enum eyrie_result eyrie_create_handle_of(struct eyrie_handle *handle, const struct eyrie_caller *caller,
                                         const struct eyrie_platform *platform, const struct eyrie_programs *programs);

/* Takes an accelerator. The platform is copied; programs have to stay; NULL: there are none. EYRIE_OTHER_LIBRARY: the
 * library was compiled from another eyrie.h, or with other limits. */
static inline enum eyrie_result eyrie_create_handle(struct eyrie_handle *handle, const struct eyrie_platform *platform,
                                                    const struct eyrie_programs *programs) {
  const struct eyrie_caller caller = {EYRIE_VERSION, EYRIE_MOST_ALLOCATIONS, EYRIE_MOST_OPERATIONS,
                                      sizeof(struct eyrie_handle)};
  return eyrie_create_handle_of(handle, &caller, platform, programs);
}

/* Waits for what goes on, whatever comes of it, and gives the accelerator back. A second time does nothing. */
enum eyrie_result eyrie_destroy_handle(struct eyrie_handle *handle);

/* What there is to say of the last call with the handle or a stream of it, in a line: "" of EYRIE_OK; else the
 * argument, what was given and what has to be; of EYRIE_NOT_COMPILED the key, of EYRIE_NOT_SUPPORTED the compiler's
 * reason, of EYRIE_ACCELERATOR_ERROR the error. Calls of descriptors have no handle: their results say it all. */
const char *eyrie_get_message(const struct eyrie_handle *handle);

/* ---- Memory: places are offsets in the window ---- */

/* Takes so many bytes, whose values are anything. */
enum eyrie_result eyrie_malloc(struct eyrie_handle *handle, uint32_t bytes, uint32_t *place);

/* What follows waits for all streams first, and returns what of them failed, if anything, having done nothing else. */
enum eyrie_result eyrie_free(struct eyrie_handle *handle, uint32_t place);

/* A tensor: a descriptor, and the place of an allocation that has its values; filters as well. */
struct eyrie_tensor {
  const struct eyrie_tensor_descriptor *descriptor;
  uint32_t place;
};

struct eyrie_filter {
  const struct eyrie_filter_descriptor *descriptor;
  uint32_t place;
};

/* Values in C order, as many as the descriptor says; a bias is as many int32 as there are filters. */
enum eyrie_result eyrie_copy_to_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor,
                                       const int8_t *values, size_t count);
enum eyrie_result eyrie_copy_from_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor,
                                         int8_t *values, size_t count);
enum eyrie_result eyrie_copy_to_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter,
                                       const int8_t *values, size_t count);
enum eyrie_result eyrie_copy_from_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter,
                                         int8_t *values, size_t count);
enum eyrie_result eyrie_copy_to_bias(struct eyrie_handle *handle, uint32_t place, const int32_t *values, size_t count);

/* ---- Streams ---- */

/* A stream beside the handle's own. It has to stay until it, or the handle, is destroyed. */
enum eyrie_result eyrie_create_stream(struct eyrie_handle *handle, struct eyrie_stream *stream);

/* Waits for it, whatever comes of it. */
enum eyrie_result eyrie_destroy_stream(struct eyrie_stream *stream);

/* Moves the operators on without waiting. EYRIE_OK: all of the stream have ended; EYRIE_BUSY: they have not; else what
 * failed, once. */
enum eyrie_result eyrie_poll_stream(struct eyrie_stream *stream);

/* Waits until all operators of a stream, or of all streams, have ended; returns what failed, once. EYRIE_TIMEOUT: an
 * operator takes longer than the library looks; it goes on. */
enum eyrie_result eyrie_synchronize_stream(struct eyrie_stream *stream);
enum eyrie_result eyrie_synchronize(struct eyrie_handle *handle);

/* Cycles, by the accelerator's counter, of the operators that the last synchronisation waited for. */
enum eyrie_result eyrie_get_cycles(const struct eyrie_stream *stream, uint64_t *cycles);

/* ---- Operators: checked, given to a stream, and run while the caller goes on ---- */

/* bias: a place, or EYRIE_NO_BIAS. */
enum eyrie_result eyrie_convolution(struct eyrie_stream *stream, const struct eyrie_convolution_descriptor *convolution,
                                    const struct eyrie_tensor *input, const struct eyrie_filter *filter, uint32_t bias,
                                    const struct eyrie_tensor *output);

/* Of all values of each of the n maps. */
enum eyrie_result eyrie_fully_connected(struct eyrie_stream *stream, const struct eyrie_tensor *input,
                                        const struct eyrie_filter *filter, uint32_t bias,
                                        const struct eyrie_tensor *output);

enum eyrie_result eyrie_pooling(struct eyrie_stream *stream, const struct eyrie_pooling_descriptor *pooling,
                                const struct eyrie_tensor *input, const struct eyrie_tensor *output);

enum eyrie_result eyrie_activation(struct eyrie_stream *stream, const struct eyrie_activation_descriptor *activation,
                                   const struct eyrie_tensor *input, const struct eyrie_tensor *output);

enum eyrie_result eyrie_addition(struct eyrie_stream *stream, enum eyrie_function fused,
                                 const struct eyrie_tensor *first, const struct eyrie_tensor *second,
                                 const struct eyrie_tensor *output);

/* Over the channels, by the host. */
enum eyrie_result eyrie_softmax(struct eyrie_stream *stream, float beta, const struct eyrie_tensor *input,
                                const struct eyrie_tensor *output);

#ifdef __cplusplus
}
#endif

#endif

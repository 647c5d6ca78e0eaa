/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator library: single operators on an Eyrie accelerator, in C99 (also C++17), without an operating system and
 * without a heap. It uses the driver (driver/eyrie_driver.h). docs/howto/operators.md compares it with the Python
 * library and explains the programs.
 *
 * Every function returns EYRIE_OK, or the reason why it had no effect. A handle, its streams and its allocations belong
 * to one thread.
 */
#ifndef EYRIE_H
#define EYRIE_H

#include "eyrie_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the declarations in this file; eyrie_create_handle rejects a library of another version. */
#define EYRIE_VERSION 1u

/* Limits, which you may define before. Library and caller need the same values; eyrie_create_handle checks them.
 * EYRIE_MOST_ALLOCATIONS: allocations of a handle, including the programs in the memory.
 * EYRIE_MOST_OPERATIONS: waiting operators of all streams; a further call waits until one has ended.
 * EYRIE_LOOKS: polls of a running accelerator; its watchdog stops it earlier. */
#ifndef EYRIE_MOST_ALLOCATIONS
#define EYRIE_MOST_ALLOCATIONS 256u
#endif
#ifndef EYRIE_MOST_OPERATIONS
#define EYRIE_MOST_OPERATIONS 32u
#endif
#ifndef EYRIE_LOOKS
#define EYRIE_LOOKS 1000000000u
#endif

/* Constants. EYRIE_MESSAGE_BYTES: the size of a handle's line. EYRIE_NO_BIAS: in the place of a bias: zeros.
 * EYRIE_MOST_INPUTS, EYRIE_MOST_OUTPUTS: tensors of an operator. */
#define EYRIE_MESSAGE_BYTES 1024u
#define EYRIE_NO_BIAS UINT32_MAX
#define EYRIE_MOST_INPUTS 3u
#define EYRIE_MOST_OUTPUTS 2u

/* ---- Descriptors: create, set (any number of times), get, destroy ---- */

/* int8 [n][h][w][c]; a value q stands for scale * (q - zero_point). */
struct eyrie_tensor_setting {
  uint32_t n, h, w, c;
  float scale;
  int32_t zero_point;
};

/* int8 [m][r][s][c]; c is the number of channels of a group. Fully connected layers have r = s = 1. scales: one for all
 * filters, or m; the array must stay valid while the descriptor is in use. */
struct eyrie_filter_setting {
  uint32_t m, r, s, c;
  const float *scales;
  uint32_t scale_count;
};

/* Activation functions. A convolution, and some of the arithmetic operators, can be fused with the first four. */
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
  EYRIE_FUNCTIONS /* number of functions */
};

/* Operators of two tensors. The first three can be fused with an activation function. */
enum eyrie_arithmetic_kind {
  EYRIE_ADD,
  EYRIE_SUB,
  EYRIE_MUL,
  EYRIE_MAXIMUM,
  EYRIE_MINIMUM,
  EYRIE_SQUARED_DIFFERENCE,
  EYRIE_DIV,
  EYRIE_ARITHMETIC_KINDS /* number of kinds */
};

/* stride, dilation: vertical, horizontal; pads: top, bottom, left, right; groups: groups of channels with filters of
 * their own; a depthwise convolution has a group for each channel. */
struct eyrie_convolution_setting {
  uint32_t stride[2], dilation[2], pads[4], groups;
  enum eyrie_function fused;
};

enum eyrie_pooling_kind { EYRIE_MAX, EYRIE_AVERAGE };

struct eyrie_pooling_setting {
  enum eyrie_pooling_kind kind;
  uint32_t kernel[2], stride[2], pads[4];
};

/* alpha: slope of EYRIE_LEAKY_RELU for negative values. */
struct eyrie_activation_setting {
  enum eyrie_function function;
  float alpha;
};

/* Local response normalisation: y = x / (k + alpha * sums) ^ beta. The sums are the squares of the values of
 * 2 * radius + 1 channels. All are positive. */
struct eyrie_normalization_setting {
  uint32_t radius;
  float alpha, beta, k;
};

/* An LSTM cell: scale and zero point of the sums of its gates. */
struct eyrie_lstm_setting {
  float scale;
  int32_t zero_point;
};

/* A descriptor and its functions, such as eyrie_create_tensor_descriptor(&descriptor). */
#define EYRIE_DESCRIPTOR(kind)                                                                                      \
  struct eyrie_##kind##_descriptor {                                                                                \
    uint32_t state; /* private */                                                                                   \
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
EYRIE_DESCRIPTOR(normalization);
EYRIE_DESCRIPTOR(lstm);

/* Bytes in the accelerator's memory: a tensor in its memory layout, filters in C order. */
enum eyrie_result eyrie_get_tensor_bytes(const struct eyrie_tensor_descriptor *descriptor, uint32_t *bytes);
enum eyrie_result eyrie_get_filter_bytes(const struct eyrie_filter_descriptor *descriptor, uint32_t *bytes);

/* ---- Programs ---- */

/* A compiled program of an operator. key: a line of text that identifies the operator (docs/howto/operators.md). */
struct eyrie_program {
  const char *key;
  const struct eyrie_network *network;
  const uint8_t *image;
};

/* A request for a program. Filters and bias (int32, little-endian) are offsets in the window, which
 * platform->read_memory reads; 0 bytes: no filters, or no bias. */
struct eyrie_request {
  const char *key;
  const struct eyrie_platform *platform;
  const float *scales;
  uint32_t scale_count;
  uint32_t filters, filter_bytes;
  uint32_t bias, bias_bytes;
  char *message; /* EYRIE_MESSAGE_BYTES; holds the key; overwrite it with the reason of a failure, one line */
};

/* The sources of programs: a table that was compiled ahead of time, and a function (or NULL) for operators that are
 * not in the table. compile returns a program that must stay valid, or EYRIE_NOT_SUPPORTED or EYRIE_NOT_COMPILED. */
struct eyrie_programs {
  const struct eyrie_program *table;
  uint32_t count;
  enum eyrie_result (*compile)(void *context, const struct eyrie_request *request,
                               const struct eyrie_program **program);
  void *context;
};

/* The programs that are linked to the application: from `eyrie operators --c`, or from a simulated SoC. */
const struct eyrie_programs *eyrie_linked_programs(void);

/* ---- A handle ---- */

struct eyrie_handle;

/* A queue of operators, which run in order. A failed operator ends the later ones. The fields are private. */
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
  const struct eyrie_program *program; /* in this allocation; NULL: data of the application */
  uint32_t used;                       /* time of the last use of the program */
  uint32_t digested;                   /* bytes under the digest; 0: no digest */
  uint8_t digest[32];
};

struct eyrie_operation {
  struct eyrie_stream *stream;
  const struct eyrie_program *program; /* NULL: a softmax, which the host computes */
  struct eyrie_tensor_setting tensors[EYRIE_MOST_OUTPUTS + EYRIE_MOST_INPUTS]; /* outputs, then inputs */
  uint32_t places[EYRIE_MOST_OUTPUTS + EYRIE_MOST_INPUTS];                     /* addresses */
  uint32_t outputs, inputs, map;       /* number of outputs and of inputs; index of the running map */
  float beta;
};

/* An accelerator in use. The fields are private, except for `stream`, the handle's own stream. State and message come
 * first, so that a library with other limits finds them. */
struct eyrie_handle {
  uint32_t state;
  char message[EYRIE_MESSAGE_BYTES];
  struct eyrie_device device;
  struct eyrie_stream stream;
  const struct eyrie_programs *programs;
  struct eyrie_allocation allocations[EYRIE_MOST_ALLOCATIONS]; /* by address */
  uint32_t allocation_count, clock;
  struct eyrie_operation operations[EYRIE_MOST_OPERATIONS];
  uint32_t first_operation, operation_count;
  bool running, stopped; /* the first operation runs on the accelerator; the accelerator needs a reset */
  uint32_t inputs[EYRIE_MOST_INPUTS], outputs[EYRIE_MOST_OUTPUTS];
};

/* The limits and sizes that a caller was compiled with. */
struct eyrie_caller {
  uint32_t version, most_allocations, most_operations;
  size_t handle_bytes;
};

/* The implementation of eyrie_create_handle. */
enum eyrie_result eyrie_create_handle_of(struct eyrie_handle *handle, const struct eyrie_caller *caller,
                                         const struct eyrie_platform *platform, const struct eyrie_programs *programs);

/* Open an accelerator. The platform is copied. The programs must stay valid; NULL: no programs. EYRIE_OTHER_LIBRARY:
 * the library was compiled from another eyrie.h, or with other limits. */
static inline enum eyrie_result eyrie_create_handle(struct eyrie_handle *handle, const struct eyrie_platform *platform,
                                                    const struct eyrie_programs *programs) {
  const struct eyrie_caller caller = {EYRIE_VERSION, EYRIE_MOST_ALLOCATIONS, EYRIE_MOST_OPERATIONS,
                                      sizeof(struct eyrie_handle)};
  return eyrie_create_handle_of(handle, &caller, platform, programs);
}

/* Wait for all operators, whether they fail or not, and close the accelerator. A second call has no effect. */
enum eyrie_result eyrie_destroy_handle(struct eyrie_handle *handle);

/* Return the message of the last call with the handle or a stream of it, one line. It is "" after EYRIE_OK, the key
 * after EYRIE_NOT_COMPILED, the compiler's reason after EYRIE_NOT_SUPPORTED, the error after EYRIE_ACCELERATOR_ERROR,
 * and else the argument with its value and the legal values. Functions of descriptors have no handle and no message. */
const char *eyrie_get_message(const struct eyrie_handle *handle);

/* ---- Memory: a place is an offset in the window ---- */

/* Allocate memory with undefined contents. */
enum eyrie_result eyrie_malloc(struct eyrie_handle *handle, uint32_t bytes, uint32_t *place);

/* This and the following functions first wait for all streams. If an operator failed, they return its error and have no
 * other effect. */
enum eyrie_result eyrie_free(struct eyrie_handle *handle, uint32_t place);

/* A tensor, or filters: a descriptor, and the place of an allocation that has the values. */
struct eyrie_tensor {
  const struct eyrie_tensor_descriptor *descriptor;
  uint32_t place;
};

struct eyrie_filter {
  const struct eyrie_filter_descriptor *descriptor;
  uint32_t place;
};

/* Copy values in C order. `count` is the number of values of the descriptor; a bias has an int32 for each filter. */
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

/* Create a stream beside the handle's own. It must stay valid until it, or the handle, is destroyed. */
enum eyrie_result eyrie_create_stream(struct eyrie_handle *handle, struct eyrie_stream *stream);

/* Wait for the operators of the stream, whether they fail or not, and destroy it. */
enum eyrie_result eyrie_destroy_stream(struct eyrie_stream *stream);

/* Start the next operators without waiting. EYRIE_OK: all operators of the stream have ended; EYRIE_BUSY: they have
 * not; else the error of a failed operator, once. */
enum eyrie_result eyrie_poll_stream(struct eyrie_stream *stream);

/* Wait until all operators of a stream, or of all streams, have ended; return the error of a failed operator, once.
 * EYRIE_TIMEOUT: an operator did not end within EYRIE_LOOKS polls; it still runs. */
enum eyrie_result eyrie_synchronize_stream(struct eyrie_stream *stream);
enum eyrie_result eyrie_synchronize(struct eyrie_handle *handle);

/* Get the cycles, by the accelerator's counter, of the operators that the last synchronisation waited for. */
enum eyrie_result eyrie_get_cycles(const struct eyrie_stream *stream, uint64_t *cycles);

/* ---- Operators: a call checks its arguments and queues the operator, which runs while the caller continues ---- */

/* bias: a place, or EYRIE_NO_BIAS. */
enum eyrie_result eyrie_convolution(struct eyrie_stream *stream, const struct eyrie_convolution_descriptor *convolution,
                                    const struct eyrie_tensor *input, const struct eyrie_filter *filter, uint32_t bias,
                                    const struct eyrie_tensor *output);

/* A transposed convolution, or deconvolution: stride is the distance of the input's values in the output, and pads are
 * removed from the output. Dilation and groups are 1; no function is fused. */
enum eyrie_result eyrie_transposed_convolution(struct eyrie_stream *stream,
                                               const struct eyrie_convolution_descriptor *convolution,
                                               const struct eyrie_tensor *input, const struct eyrie_filter *filter,
                                               uint32_t bias, const struct eyrie_tensor *output);

/* A fully connected layer on all values of each of the n maps. */
enum eyrie_result eyrie_fully_connected(struct eyrie_stream *stream, const struct eyrie_tensor *input,
                                        const struct eyrie_filter *filter, uint32_t bias,
                                        const struct eyrie_tensor *output);

enum eyrie_result eyrie_pooling(struct eyrie_stream *stream, const struct eyrie_pooling_descriptor *pooling,
                                const struct eyrie_tensor *input, const struct eyrie_tensor *output);

/* Each value fills a window of the output, whose rows and columns are multiples of the input's. The scale and zero point
 * are the same. */
enum eyrie_result eyrie_unpooling(struct eyrie_stream *stream, const struct eyrie_tensor *input,
                                  const struct eyrie_tensor *output);

enum eyrie_result eyrie_activation(struct eyrie_stream *stream, const struct eyrie_activation_descriptor *activation,
                                   const struct eyrie_tensor *input, const struct eyrie_tensor *output);

/* An operator of two tensors, whose sizes are those of the output, or 1. EYRIE_MUL of M x 1 x 1 and 1 x 1 x N is the outer
 * product. Tensors of EYRIE_MAXIMUM and EYRIE_MINIMUM have the same scale and zero point.
 *
 * EYRIE_DIV is first * f * p. Lookup tables of the second operand have f (-1 to 1) and p, a power of 2 divided by the scale
 * of this operand. A divisor of 0 counts as the scale. */
enum eyrie_result eyrie_arithmetic(struct eyrie_stream *stream, enum eyrie_arithmetic_kind kind,
                                   enum eyrie_function fused, const struct eyrie_tensor *first,
                                   const struct eyrie_tensor *second, const struct eyrie_tensor *output);

/* A concatenation of channels. The tensors have the same scale and zero point. */
enum eyrie_result eyrie_concatenation(struct eyrie_stream *stream, const struct eyrie_tensor *first,
                                      const struct eyrie_tensor *second, const struct eyrie_tensor *output);

/* Local response normalisation, as int8 operators of TensorFlow Lite: MUL, CONV_2D, LOG, MUL, EXP and MUL. The scale of
 * each result covers all values that it can have. */
enum eyrie_result eyrie_local_response_normalization(struct eyrie_stream *stream,
                                                     const struct eyrie_normalization_descriptor *normalization,
                                                     const struct eyrie_tensor *input,
                                                     const struct eyrie_tensor *output);

/* A step of an LSTM, at each pixel, as int8 operators of TensorFlow Lite: CONCATENATION of input and hidden, and for each
 * gate FULLY_CONNECTED and a function: i, f, o = LOGISTIC(sums), g = TANH(sums). Then next_cell = f * cell + i * g and
 * next_hidden = o * TANH(next_cell). The next states are other tensors than the states.
 *
 * filter: [4 * H][1][1][X + H], the filters of i, f, g and o, each for input and hidden. The scale of the CONCATENATION
 * covers the values of both; the bias has this scale times the filter's. f * cell has the scale of cell. */
enum eyrie_result eyrie_lstm_cell(struct eyrie_stream *stream, const struct eyrie_lstm_descriptor *lstm,
                                  const struct eyrie_tensor *input, const struct eyrie_tensor *hidden,
                                  const struct eyrie_tensor *cell, const struct eyrie_filter *filter, uint32_t bias,
                                  const struct eyrie_tensor *next_hidden, const struct eyrie_tensor *next_cell);

/* Softmax over the channels, on the host. */
enum eyrie_result eyrie_softmax(struct eyrie_stream *stream, float beta, const struct eyrie_tensor *input,
                                const struct eyrie_tensor *output);

#ifdef __cplusplus
}
#endif

#endif

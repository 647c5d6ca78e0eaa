/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operator library's files share, each of which calls only those that stand before it here. Behind them stand
 * eyrie_memory.c and eyrie_operators.c, which have nothing but calls of eyrie.h.
 */
#ifndef EYRIE_LIBRARY_H
#define EYRIE_LIBRARY_H

#include "eyrie.h"
#include "eyrie_device.h"

#define EYRIE_DIGEST_BYTES 32u
#define EYRIE_SOFTMAX_CHANNELS 4095u /* at most: their exponentials have a sum that fits */

/* States of descriptors and handles: numbers that memory does not hold by chance. */
#define EYRIE_STATE_CREATED 0x45795231u
#define EYRIE_STATE_SET 0x45795232u
#define EYRIE_STATE_OPEN 0x45795233u
#define EYRIE_STATE_GONE 0x45795234u

static inline bool is_in_use(const struct eyrie_handle *handle) {
  return handle != NULL && handle->state == EYRIE_STATE_OPEN;
}

/* ---- eyrie_text.c ---- */

/* A line in a place of EYRIE_MESSAGE_BYTES. */
struct eyrie_text {
  char *to;
  uint32_t length;
};

void eyrie_add_text(struct eyrie_text *text, const char *more);
void eyrie_add_number(struct eyrie_text *text, uint64_t number, uint32_t base, uint32_t least_digits);
void eyrie_add_signed(struct eyrie_text *text, int32_t number);

/* Begins a call: clears the message; says what is wrong with the handle. */
enum eyrie_result eyrie_begin(struct eyrie_handle *handle);

/* Writes a line into the handle's message, and returns the result. In the line stand for a value: %s text, %u uint32_t,
 * %x as well as hexadecimal, %z size_t, %d int32_t, %f double. */
enum eyrie_result eyrie_reject(struct eyrie_handle *handle, enum eyrie_result result, const char *line, ...);

static inline enum eyrie_result eyrie_reject_null(struct eyrie_handle *handle, const char *what) {
  return eyrie_reject(handle, EYRIE_BAD_ARGUMENT, "%s: is NULL, or something in it is: give one", what);
}

/* EYRIE_OK, if a descriptor is set. */
static inline enum eyrie_result eyrie_check_set(struct eyrie_handle *handle, const char *what, uint32_t state) {
  if (state == EYRIE_STATE_SET) return EYRIE_OK;
  return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR, "%s: its descriptor is %s: create it and set it", what,
                      state == EYRIE_STATE_GONE ? "destroyed" : "not set");
}

/* ---- eyrie_descriptors.c ---- */

/* A map of a tensor, as it lies in the memory, from address 0 on; its bytes. */
struct eyrie_map eyrie_map_of(const struct eyrie_tensor_setting *setting);
uint32_t eyrie_map_bytes(const struct eyrie_map *map);

/* Bytes; of what is set they fit 32 bits. */
uint32_t eyrie_tensor_bytes(const struct eyrie_tensor_setting *setting);
uint32_t eyrie_filter_bytes(const struct eyrie_filter_setting *setting);

/* ---- eyrie_layout.c ---- */

/* Where values of a map are, in C order: in the host's memory, or, where that is NULL, in the window. */
struct eyrie_values {
  const struct eyrie_platform *platform;
  const int8_t *host;
  const struct eyrie_map *map;
  uint32_t place;
};

int8_t eyrie_value(const struct eyrie_values *values, uint32_t number);

/* Writes a map into the window. */
void eyrie_write_map(const struct eyrie_platform *platform, const struct eyrie_map *map, uint32_t place,
                     const struct eyrie_values *values);

/* ---- eyrie_allocations.c ---- */

/* The allocation that begins there, the application's; NULL: there is none. */
struct eyrie_allocation *eyrie_find_allocation(struct eyrie_handle *handle, uint32_t place);

/* EYRIE_OK, if an allocation of at least so many bytes begins there; what: the argument. */
enum eyrie_result eyrie_check_place(struct eyrie_handle *handle, const char *what, uint32_t place, uint32_t bytes);

/* Takes so many bytes; programs make room for them; NULL: there is none. And gives them back. */
struct eyrie_allocation *eyrie_room_for(struct eyrie_handle *handle, uint32_t bytes);
void eyrie_give(struct eyrie_handle *handle, struct eyrie_allocation *allocation);

/* The offset of a program in the window, which is put there if it is not; and all programs out of it. */
enum eyrie_result eyrie_put_program(struct eyrie_handle *handle, const struct eyrie_program *program, uint32_t *place);
void eyrie_forget_programs(struct eyrie_handle *handle);

/* ---- eyrie_softmax.c ---- */

/* Of all maps. */
void eyrie_do_softmax(const struct eyrie_platform *platform, const struct eyrie_operation *operation);

/* ---- eyrie_sha256.c ---- */

/* SHA-256 (FIPS 180-4), of bytes that come in parts. */
struct eyrie_sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
};

void eyrie_sha256_begin(struct eyrie_sha256 *sha);
void eyrie_sha256_add(struct eyrie_sha256 *sha, const uint8_t *bytes, uint32_t count);
void eyrie_sha256_end(struct eyrie_sha256 *sha, uint8_t *digest);

/* ---- eyrie_keys.c ---- */

/* An operator, as its program is asked for. The settings that it does not have are NULL. */
struct eyrie_asked {
  const char *name;
  const struct eyrie_tensor_setting *tensors; /* outputs, then inputs */
  uint32_t outputs, inputs;
  const struct eyrie_filter_setting *filter;
  uint32_t filters, bias;                     /* places */
  const struct eyrie_convolution_setting *convolution;
  const struct eyrie_pooling_setting *pooling;
  const struct eyrie_activation_setting *activation;
  const struct eyrie_normalization_setting *normalization;
  const struct eyrie_lstm_setting *lstm;
  enum eyrie_arithmetic_kind kind;            /* EYRIE_ARITHMETIC_KINDS: it is no arithmetic operator */
  enum eyrie_function fused;                  /* of an arithmetic operator */
};

/* The program of an operator; what there is not, eyrie_get_message says. */
enum eyrie_result eyrie_find_program(struct eyrie_handle *handle, const struct eyrie_asked *asked,
                                     const struct eyrie_program **program);

/* The number of an input of an operator's program by its name; EYRIE_MOST_INPUTS: it is no input. */
uint32_t eyrie_input_of(const char *name);

/* ---- eyrie_streams.c ---- */

/* Gives an operator to its stream; waits where the queue is full. */
enum eyrie_result eyrie_add(struct eyrie_handle *handle, const struct eyrie_operation *operation);

/* Whether an operator that has not ended writes there. */
bool eyrie_is_written(const struct eyrie_handle *handle, uint32_t place);

/* ---- eyrie_arguments.c ---- */

/* Takes the tensors of a call, outputs and then inputs, into `operation`. names: of these arguments */
enum eyrie_result eyrie_take(struct eyrie_stream *stream, const struct eyrie_tensor *const *tensors,
                             const char *const *names, uint32_t outputs, uint32_t inputs,
                             struct eyrie_operation *operation);

/* Takes the output and one or two inputs of a call. */
enum eyrie_result eyrie_take_tensors(struct eyrie_stream *stream, const struct eyrie_tensor *const *tensors,
                                     uint32_t inputs, struct eyrie_operation *operation);

/* Takes filters, and a bias or EYRIE_NO_BIAS. */
enum eyrie_result eyrie_take_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter, uint32_t bias,
                                    struct eyrie_asked *asked);

/* Checks that the output has the sizes that the operator makes; 0: its window does not fit. */
enum eyrie_result eyrie_check_output(const struct eyrie_operation *operation, uint32_t h, uint32_t w, uint32_t c);

/* Checks that the output has this scale and zero point. */
enum eyrie_result eyrie_check_scale(const struct eyrie_operation *operation, const struct eyrie_tensor_setting *made);

/* An operator without settings. */
struct eyrie_asked eyrie_asked_of(const char *name);

/* Finds the program of an operation, and gives it to its stream. */
enum eyrie_result eyrie_add_program(struct eyrie_operation *operation, struct eyrie_asked *asked);

#endif

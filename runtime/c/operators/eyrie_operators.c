/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of operators: what can be checked is, then they are given to a stream.
 */

#include "eyrie_library.h"

#define SOFTMAX_SCALE (1.0f / 256)
#define SOFTMAX_ZERO_POINT (-128)

/* ---- Tensors ---- */

static bool overlap(uint32_t one, uint32_t one_bytes, uint32_t other, uint32_t other_bytes) {
  return (uint64_t)one < (uint64_t)other + other_bytes && (uint64_t)other < (uint64_t)one + one_bytes;
}

/* Takes the tensors of a call, the output and the inputs, into `operation`. */
static enum eyrie_result take_tensors(struct eyrie_stream *stream, const struct eyrie_tensor *const *tensors,
                                      uint32_t inputs, struct eyrie_operation *operation) {
  if (stream == NULL) return EYRIE_BAD_ARGUMENT;
  const enum eyrie_result result = check_handle(stream->handle);
  if (result != EYRIE_OK) return result;
  operation->stream = stream;
  operation->program = NULL;
  operation->inputs = inputs;
  operation->map = 0;
  operation->beta = 0;
  for (uint32_t n = 0; n <= inputs; n++) {
    if (tensors[n] == NULL || tensors[n]->descriptor == NULL) return EYRIE_BAD_ARGUMENT;
    if (tensors[n]->descriptor->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;
    operation->tensors[n] = tensors[n]->descriptor->setting;
    operation->places[n] = tensors[n]->place;
  }
  for (uint32_t n = 0; n <= inputs; n++) {
    const uint32_t bytes = eyrie_tensor_bytes(&operation->tensors[n]);
    if (operation->tensors[n].n != operation->tensors[0].n) return EYRIE_BAD_DESCRIPTOR;
    if (eyrie_check_place(stream->handle, operation->places[n], bytes) != EYRIE_OK) return EYRIE_BAD_POINTER;
    if (n > 0 && overlap(operation->places[n], bytes, operation->places[0],
                         eyrie_tensor_bytes(&operation->tensors[0]))) return EYRIE_BAD_POINTER;
  }
  return EYRIE_OK;
}

static bool have_one_shape(const struct eyrie_tensor_setting *one, const struct eyrie_tensor_setting *other) {
  return one->h == other->h && one->w == other->w && one->c == other->c;
}

static bool have_one_scale(const struct eyrie_tensor_setting *one, const struct eyrie_tensor_setting *other) {
  return !(one->scale < other->scale) && !(one->scale > other->scale) && one->zero_point == other->zero_point;
}

/* Finds the program of an operation, and gives it to its stream. */
static enum eyrie_result add_program(struct eyrie_operation *operation, struct eyrie_asked *asked) {
  struct eyrie_handle *handle = operation->stream->handle;
  asked->tensors = operation->tensors;
  asked->inputs = operation->inputs;
  enum eyrie_result result = EYRIE_OK;
  const bool awaited = asked->filter != NULL && (eyrie_is_written(handle, asked->filters) ||
                                                 eyrie_is_written(handle, asked->bias));
  if (awaited) result = eyrie_synchronize(handle); /* filters are known by what is in their memory */
  if (result == EYRIE_OK) result = eyrie_find_program(handle, asked, &operation->program);
  if (result == EYRIE_OK) {
    eyrie_find_allocation(handle, operation->places[0])->digested = 0;
    result = eyrie_add(handle, operation);
  }
  return result;
}

/* ---- Windows and filters ---- */

/* Positions of a window along an axis; 0: it does not fit. */
static uint32_t positions(uint32_t size, const uint32_t *pads, uint64_t reach, uint32_t stride) {
  const uint64_t padded = (uint64_t)size + pads[0] + pads[1];
  return padded < reach ? 0 : (uint32_t)((padded - reach) / stride + 1);
}

static uint64_t reach_of(uint32_t taps, uint32_t dilation) { return (uint64_t)(taps - 1) * dilation + 1; }

static enum eyrie_result take_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter, uint32_t bias,
                                     struct eyrie_asked *asked) {
  if (filter == NULL || filter->descriptor == NULL) return EYRIE_BAD_ARGUMENT;
  if (filter->descriptor->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;
  asked->filter = &filter->descriptor->setting;
  asked->filters = filter->place;
  asked->bias = bias;
  if (asked->filter->m > UINT32_MAX / 4) return EYRIE_BAD_DESCRIPTOR;
  if (eyrie_check_place(handle, filter->place, eyrie_filter_bytes(asked->filter)) != EYRIE_OK) return EYRIE_BAD_POINTER;
  return bias == EYRIE_NO_BIAS ? EYRIE_OK : eyrie_check_place(handle, bias, 4 * asked->filter->m);
}

static struct eyrie_asked asked_of(const char *name) {
  const struct eyrie_asked asked = {name, NULL, 1, NULL, 0, EYRIE_NO_BIAS, NULL, NULL, NULL, EYRIE_NONE};
  return asked;
}

enum eyrie_result eyrie_convolution(struct eyrie_stream *stream, const struct eyrie_convolution_descriptor *convolution,
                                    const struct eyrie_tensor *input, const struct eyrie_filter *filter, uint32_t bias,
                                    const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = asked_of("convolution");
  enum eyrie_result result = take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK && convolution == NULL) result = EYRIE_BAD_ARGUMENT;
  if (result == EYRIE_OK) result = take_filter(stream->handle, filter, bias, &asked);
  if (result != EYRIE_OK) return result;
  if (convolution->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;
  const struct eyrie_convolution_setting *of = asked.convolution = &convolution->setting;
  const struct eyrie_tensor_setting *in = &operation.tensors[1], *out = &operation.tensors[0];
  if ((uint64_t)asked.filter->c * of->groups != in->c || asked.filter->m % of->groups != 0 ||
      out->c != asked.filter->m ||
      out->h != positions(in->h, of->pads, reach_of(asked.filter->r, of->dilation[0]), of->stride[0]) ||
      out->w != positions(in->w, of->pads + 2, reach_of(asked.filter->s, of->dilation[1]), of->stride[1]))
    return EYRIE_BAD_DESCRIPTOR;
  return add_program(&operation, &asked);
}

enum eyrie_result eyrie_fully_connected(struct eyrie_stream *stream, const struct eyrie_tensor *input,
                                        const struct eyrie_filter *filter, uint32_t bias,
                                        const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = asked_of("fully_connected");
  enum eyrie_result result = take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK) result = take_filter(stream->handle, filter, bias, &asked);
  if (result != EYRIE_OK) return result;
  const struct eyrie_tensor_setting *in = &operation.tensors[1], *out = &operation.tensors[0];
  if (asked.filter->r != 1 || asked.filter->s != 1 || (uint64_t)in->h * in->w * in->c != asked.filter->c ||
      (uint64_t)out->h * out->w * out->c != asked.filter->m) return EYRIE_BAD_DESCRIPTOR;
  return add_program(&operation, &asked);
}

enum eyrie_result eyrie_pooling(struct eyrie_stream *stream, const struct eyrie_pooling_descriptor *pooling,
                                const struct eyrie_tensor *input, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = asked_of("pooling");
  const enum eyrie_result result = take_tensors(stream, tensors, 1, &operation);
  if (result != EYRIE_OK) return result;
  if (pooling == NULL) return EYRIE_BAD_ARGUMENT;
  if (pooling->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;
  const struct eyrie_pooling_setting *of = asked.pooling = &pooling->setting;
  const struct eyrie_tensor_setting *in = &operation.tensors[1], *out = &operation.tensors[0];
  if (!have_one_scale(in, out) || out->c != in->c ||
      out->h != positions(in->h, of->pads, of->kernel[0], of->stride[0]) ||
      out->w != positions(in->w, of->pads + 2, of->kernel[1], of->stride[1])) return EYRIE_BAD_DESCRIPTOR;
  return add_program(&operation, &asked);
}

/* ---- Value by value ---- */

enum eyrie_result eyrie_activation(struct eyrie_stream *stream, const struct eyrie_activation_descriptor *activation,
                                   const struct eyrie_tensor *input, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = asked_of("activation");
  const enum eyrie_result result = take_tensors(stream, tensors, 1, &operation);
  if (result != EYRIE_OK) return result;
  if (activation == NULL) return EYRIE_BAD_ARGUMENT;
  if (activation->state != EYRIE_STATE_SET || !have_one_shape(&operation.tensors[1], &operation.tensors[0]))
    return EYRIE_BAD_DESCRIPTOR;
  asked.activation = &activation->setting;
  return add_program(&operation, &asked);
}

/* Whether these sizes, of which one may be 1, come to that one. */
static bool broadcast(uint32_t one, uint32_t other, uint32_t made) {
  return (one == made && (other == made || other == 1)) || (one == 1 && other == made);
}

enum eyrie_result eyrie_addition(struct eyrie_stream *stream, enum eyrie_function fused,
                                 const struct eyrie_tensor *first, const struct eyrie_tensor *second,
                                 const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, first, second};
  struct eyrie_operation operation;
  struct eyrie_asked asked = asked_of("addition");
  const enum eyrie_result result = take_tensors(stream, tensors, 2, &operation);
  if (result != EYRIE_OK) return result;
  if ((uint32_t)fused > EYRIE_RELU_N1_TO_1) return EYRIE_BAD_ARGUMENT;
  const struct eyrie_tensor_setting *out = &operation.tensors[0], *one = &operation.tensors[1], *other = one + 1;
  if (!broadcast(one->h, other->h, out->h) || !broadcast(one->w, other->w, out->w) ||
      !broadcast(one->c, other->c, out->c)) return EYRIE_BAD_DESCRIPTOR;
  asked.fused = fused;
  return add_program(&operation, &asked);
}

enum eyrie_result eyrie_softmax(struct eyrie_stream *stream, float beta, const struct eyrie_tensor *input,
                                const struct eyrie_tensor *output) {
  static const struct eyrie_tensor_setting made = {1, 1, 1, 1, SOFTMAX_SCALE, SOFTMAX_ZERO_POINT};
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  const enum eyrie_result result = take_tensors(stream, tensors, 1, &operation);
  if (result != EYRIE_OK) return result;
  if (!(beta > 0.0f && beta < 3.4e38f)) return EYRIE_BAD_ARGUMENT;
  if (!have_one_shape(&operation.tensors[1], &operation.tensors[0]) || !have_one_scale(&operation.tensors[0], &made))
    return EYRIE_BAD_DESCRIPTOR;
  if (operation.tensors[0].c > EYRIE_SOFTMAX_CHANNELS) {
    eyrie_say(stream->handle, "a softmax of more than 4095 channels: their exponentials have no sum that fits");
    return EYRIE_NOT_SUPPORTED;
  }
  eyrie_find_allocation(stream->handle, operation.places[0])->digested = 0;
  operation.beta = beta;
  return eyrie_add(stream->handle, &operation);
}

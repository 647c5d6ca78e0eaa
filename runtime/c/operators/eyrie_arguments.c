/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of operators: taken and checked.
 */

#include "eyrie_library.h"

static bool overlap(uint32_t one, uint32_t one_bytes, uint32_t other, uint32_t other_bytes) {
  return (uint64_t)one < (uint64_t)other + other_bytes && (uint64_t)other < (uint64_t)one + one_bytes;
}

/* Checks that tensor `n` of an operation has a place of its own beside output `out`. All settings and places are set. */
static enum eyrie_result check_apart(struct eyrie_handle *handle, const struct eyrie_operation *operation, uint32_t n,
                                     uint32_t out, const char *const *names) {
  const struct eyrie_tensor_setting *of = &operation->tensors[n], *made = &operation->tensors[out];
  if (of->n != made->n)
    return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR, "%s: has %u maps, the %s %u: give as many", names[n], of->n,
                        names[out], made->n);
  const uint32_t place = operation->places[n];
  if (!overlap(place, eyrie_tensor_bytes(of), operation->places[out], eyrie_tensor_bytes(made))) return EYRIE_OK;
  return eyrie_reject(handle, EYRIE_BAD_POINTER, "%s: overlaps the %s at 0x%x: allocate one of its own", names[out],
                      names[n], place);
}

enum eyrie_result eyrie_take(struct eyrie_stream *stream, const struct eyrie_tensor *const *tensors,
                             const char *const *names, uint32_t outputs, uint32_t inputs,
                             struct eyrie_operation *operation) {
  if (stream == NULL) return EYRIE_BAD_ARGUMENT;
  struct eyrie_handle *handle = stream->handle;
  enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  operation->stream = stream;
  operation->program = NULL;
  operation->outputs = outputs;
  operation->inputs = inputs;
  operation->map = 0;
  operation->beta = 0;
  for (uint32_t n = 0; n < outputs + inputs; n++) {
    if (tensors[n] == NULL || tensors[n]->descriptor == NULL) return eyrie_reject_null(handle, names[n]);
    result = eyrie_check_set(handle, names[n], tensors[n]->descriptor->state);
    if (result != EYRIE_OK) return result;
    operation->tensors[n] = tensors[n]->descriptor->setting;
    operation->places[n] = tensors[n]->place;
  }
  for (uint32_t n = 0; n < outputs + inputs; n++) {
    result = eyrie_check_place(handle, names[n], operation->places[n], eyrie_tensor_bytes(&operation->tensors[n]));
    for (uint32_t out = 0; out < outputs && out < n && result == EYRIE_OK; out++)
      result = check_apart(handle, operation, n, out, names);
    if (result != EYRIE_OK) return result;
  }
  return result;
}

enum eyrie_result eyrie_take_tensors(struct eyrie_stream *stream, const struct eyrie_tensor *const *tensors,
                                     uint32_t inputs, struct eyrie_operation *operation) {
  static const char *const names[2][3] = {{"output", "input", NULL}, {"output", "first", "second"}};
  return eyrie_take(stream, tensors, names[inputs - 1], 1, inputs, operation);
}

enum eyrie_result eyrie_check_output(const struct eyrie_operation *operation, uint32_t h, uint32_t w, uint32_t c) {
  struct eyrie_handle *handle = operation->stream->handle;
  const struct eyrie_tensor_setting *out = &operation->tensors[0], *in = &operation->tensors[1];
  if (h == 0 || w == 0)
    return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR, "input: %u x %u with its pads is smaller than the window", in->h,
                        in->w);
  if (out->h == h && out->w == w && out->c == c) return EYRIE_OK;
  return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR, "output: is %u x %u x %u, the operator makes %u x %u x %u", out->h,
                      out->w, out->c, h, w, c);
}

enum eyrie_result eyrie_check_scale(const struct eyrie_operation *operation, const struct eyrie_tensor_setting *made) {
  const struct eyrie_tensor_setting *out = &operation->tensors[0];
  if (!(out->scale < made->scale) && !(out->scale > made->scale) && out->zero_point == made->zero_point)
    return EYRIE_OK;
  return eyrie_reject(operation->stream->handle, EYRIE_BAD_DESCRIPTOR,
                      "output: its scale is %f and its zero point %d, the operator makes %f and %d",
                      (double)out->scale, out->zero_point, (double)made->scale, made->zero_point);
}

enum eyrie_result eyrie_add_program(struct eyrie_operation *operation, struct eyrie_asked *asked) {
  struct eyrie_handle *handle = operation->stream->handle;
  asked->tensors = operation->tensors;
  asked->outputs = operation->outputs;
  asked->inputs = operation->inputs;
  enum eyrie_result result = EYRIE_OK;
  const bool awaited = asked->filter != NULL && (eyrie_is_written(handle, asked->filters) ||
                                                 eyrie_is_written(handle, asked->bias));
  if (awaited) result = eyrie_synchronize(handle); /* filters are known by what is in their memory */
  if (result == EYRIE_OK) result = eyrie_find_program(handle, asked, &operation->program);
  if (result == EYRIE_OK) {
    for (uint32_t n = 0; n < operation->outputs; n++)
      eyrie_find_allocation(handle, operation->places[n])->digested = 0;
    result = eyrie_add(handle, operation);
  }
  return result;
}

enum eyrie_result eyrie_take_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter, uint32_t bias,
                                    struct eyrie_asked *asked) {
  if (filter == NULL || filter->descriptor == NULL) return eyrie_reject_null(handle, "filter");
  enum eyrie_result result = eyrie_check_set(handle, "filter", filter->descriptor->state);
  if (result != EYRIE_OK) return result;
  asked->filter = &filter->descriptor->setting;
  asked->filters = filter->place;
  asked->bias = bias;
  if (asked->filter->m > UINT32_MAX / 4)
    return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR, "filter: m = %u: must be at most %u", asked->filter->m,
                        UINT32_MAX / 4);
  result = eyrie_check_place(handle, "filter", filter->place, eyrie_filter_bytes(asked->filter));
  if (result != EYRIE_OK || bias == EYRIE_NO_BIAS) return result;
  return eyrie_check_place(handle, "bias", bias, 4 * asked->filter->m);
}

struct eyrie_asked eyrie_asked_of(const char *name) {
  const struct eyrie_asked asked = {name, NULL, 1,    1,    NULL, 0,                      EYRIE_NO_BIAS,
                                    NULL, NULL, NULL, NULL, NULL, EYRIE_ARITHMETIC_KINDS, EYRIE_NONE};
  return asked;
}

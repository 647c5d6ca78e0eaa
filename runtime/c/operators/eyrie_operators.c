/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of operators: what can be checked is, then they are given to a stream.
 */

#include "eyrie_library.h"

#define SOFTMAX_SCALE (1.0f / 256)
#define SOFTMAX_ZERO_POINT (-128)

/* ---- Windows and filters ---- */

/* Positions of a window along an axis; 0: it does not fit. */
static uint32_t positions(uint32_t size, const uint32_t *pads, uint64_t reach, uint32_t stride) {
  const uint64_t padded = (uint64_t)size + pads[0] + pads[1];
  return padded < reach ? 0 : (uint32_t)((padded - reach) / stride + 1);
}

static uint64_t reach_of(uint32_t taps, uint32_t dilation) { return (uint64_t)(taps - 1) * dilation + 1; }

/* Takes the arguments of a convolution, or a transposed one. */
static enum eyrie_result take_convolution(struct eyrie_stream *stream,
                                          const struct eyrie_convolution_descriptor *convolution,
                                          const struct eyrie_tensor *const *tensors, const struct eyrie_filter *filter,
                                          uint32_t bias, struct eyrie_operation *operation, struct eyrie_asked *asked) {
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, operation);
  if (result == EYRIE_OK && convolution == NULL) result = eyrie_reject_null(stream->handle, "convolution");
  if (result == EYRIE_OK) result = eyrie_take_filter(stream->handle, filter, bias, asked);
  if (result == EYRIE_OK) result = eyrie_check_set(stream->handle, "convolution", convolution->state);
  if (result != EYRIE_OK) return result;
  const struct eyrie_convolution_setting *of = asked->convolution = &convolution->setting;
  if ((uint64_t)asked->filter->c * of->groups == operation->tensors[1].c) return EYRIE_OK;
  return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR,
                      "filter: %u channels in %u groups do not go with an input of %u channels", asked->filter->c,
                      of->groups, operation->tensors[1].c);
}

enum eyrie_result eyrie_convolution(struct eyrie_stream *stream, const struct eyrie_convolution_descriptor *convolution,
                                    const struct eyrie_tensor *input, const struct eyrie_filter *filter, uint32_t bias,
                                    const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("convolution");
  enum eyrie_result result = take_convolution(stream, convolution, tensors, filter, bias, &operation, &asked);
  if (result != EYRIE_OK) return result;
  const struct eyrie_convolution_setting *of = asked.convolution;
  const struct eyrie_tensor_setting *in = &operation.tensors[1];
  if (asked.filter->m % of->groups != 0)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR,
                        "filter: %u filters do not go into %u groups: give as many to each", asked.filter->m,
                        of->groups);
  result = eyrie_check_output(
      &operation, positions(in->h, of->pads, reach_of(asked.filter->r, of->dilation[0]), of->stride[0]),
      positions(in->w, of->pads + 2, reach_of(asked.filter->s, of->dilation[1]), of->stride[1]), asked.filter->m);
  return result == EYRIE_OK ? eyrie_add_program(&operation, &asked) : result;
}

/* Rows or columns of a transposed convolution's output; 0: its pads leave none. */
static uint32_t spread(uint32_t size, const uint32_t *pads, uint32_t taps, uint32_t stride) {
  const uint32_t most = (taps + stride - 1) / stride; /* strides of a filter */
  if (pads[0] / stride >= most || pads[1] / stride >= most) return 0;
  const uint64_t made = (uint64_t)(size - 1) * stride + taps, removed = (uint64_t)pads[0] + pads[1];
  return made <= removed || made - removed > UINT32_MAX ? 0 : (uint32_t)(made - removed);
}

enum eyrie_result eyrie_transposed_convolution(struct eyrie_stream *stream,
                                               const struct eyrie_convolution_descriptor *convolution,
                                               const struct eyrie_tensor *input, const struct eyrie_filter *filter,
                                               uint32_t bias, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("transposed_convolution");
  enum eyrie_result result = take_convolution(stream, convolution, tensors, filter, bias, &operation, &asked);
  if (result != EYRIE_OK) return result;
  const struct eyrie_convolution_setting *of = asked.convolution;
  const struct eyrie_tensor_setting *in = &operation.tensors[1];
  if (of->dilation[0] != 1 || of->dilation[1] != 1 || of->groups != 1 || of->fused != EYRIE_NONE)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR,
                        "convolution: if it is transposed, its dilation is 1, 1, its groups 1 and its function EYRIE_NONE");
  const uint32_t h = spread(in->h, of->pads, asked.filter->r, of->stride[0]);
  const uint32_t w = spread(in->w, of->pads + 2, asked.filter->s, of->stride[1]);
  if (h == 0 || w == 0)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR, "convolution: its pads leave no output, or are larger than the filters");
  result = eyrie_check_output(&operation, h, w, asked.filter->m);
  return result == EYRIE_OK ? eyrie_add_program(&operation, &asked) : result;
}

enum eyrie_result eyrie_fully_connected(struct eyrie_stream *stream, const struct eyrie_tensor *input,
                                        const struct eyrie_filter *filter, uint32_t bias,
                                        const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("fully_connected");
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK) result = eyrie_take_filter(stream->handle, filter, bias, &asked);
  if (result != EYRIE_OK) return result;
  const struct eyrie_tensor_setting *in = &operation.tensors[1], *out = &operation.tensors[0];
  const uint32_t taken = in->h * in->w * in->c, made = out->h * out->w * out->c; /* no overflow: set */
  if (asked.filter->r != 1 || asked.filter->s != 1)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR,
                        "filter: is %u x %u, of a fully connected layer it is 1 x 1", asked.filter->r, asked.filter->s);
  if (taken != asked.filter->c)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR, "filter: takes %u values, the input has %u",
                        asked.filter->c, taken);
  if (made != asked.filter->m)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR, "output: has %u values, the filters make %u", made,
                        asked.filter->m);
  return eyrie_add_program(&operation, &asked);
}

enum eyrie_result eyrie_pooling(struct eyrie_stream *stream, const struct eyrie_pooling_descriptor *pooling,
                                const struct eyrie_tensor *input, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("pooling");
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK && pooling == NULL) result = eyrie_reject_null(stream->handle, "pooling");
  if (result == EYRIE_OK) result = eyrie_check_set(stream->handle, "pooling", pooling->state);
  if (result != EYRIE_OK) return result;
  const struct eyrie_pooling_setting *of = asked.pooling = &pooling->setting;
  const struct eyrie_tensor_setting *in = &operation.tensors[1];
  result = eyrie_check_output(&operation, positions(in->h, of->pads, of->kernel[0], of->stride[0]),
                              positions(in->w, of->pads + 2, of->kernel[1], of->stride[1]), in->c);
  if (result == EYRIE_OK) result = eyrie_check_scale(&operation, in);
  return result == EYRIE_OK ? eyrie_add_program(&operation, &asked) : result;
}

enum eyrie_result eyrie_unpooling(struct eyrie_stream *stream, const struct eyrie_tensor *input,
                                  const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("unpooling");
  const struct eyrie_tensor_setting *in = &operation.tensors[1], *out = &operation.tensors[0];
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, &operation);
  if (result != EYRIE_OK) return result;
  if (out->h % in->h != 0 || out->w % in->w != 0)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR,
                        "output: has %u x %u pixels, no multiples of the input's %u x %u", out->h, out->w, in->h, in->w);
  result = eyrie_check_output(&operation, out->h, out->w, in->c);
  if (result == EYRIE_OK) result = eyrie_check_scale(&operation, in);
  return result == EYRIE_OK ? eyrie_add_program(&operation, &asked) : result;
}

/* ---- Value by value ---- */

enum eyrie_result eyrie_activation(struct eyrie_stream *stream, const struct eyrie_activation_descriptor *activation,
                                   const struct eyrie_tensor *input, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("activation");
  const struct eyrie_tensor_setting *in = &operation.tensors[1];
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK && activation == NULL) result = eyrie_reject_null(stream->handle, "activation");
  if (result == EYRIE_OK) result = eyrie_check_set(stream->handle, "activation", activation->state);
  if (result == EYRIE_OK) result = eyrie_check_output(&operation, in->h, in->w, in->c);
  if (result != EYRIE_OK) return result;
  asked.activation = &activation->setting;
  return eyrie_add_program(&operation, &asked);
}

/* Checks that both inputs have the scale and zero point of the output. */
static enum eyrie_result check_same(const struct eyrie_operation *operation) {
  const enum eyrie_result result = eyrie_check_scale(operation, &operation->tensors[1]);
  return result == EYRIE_OK ? eyrie_check_scale(operation, &operation->tensors[2]) : result;
}

/* The size of a result along an axis, where one size may be 1; 0: they do not go together. */
static uint32_t broadcast(uint32_t one, uint32_t other) {
  return one == other || other == 1 ? one : one == 1 ? other : 0;
}

/* Checks the kind of an operator of two tensors, and its fused activation function. */
static enum eyrie_result check_kind(struct eyrie_handle *handle, enum eyrie_arithmetic_kind kind,
                                    enum eyrie_function fused) {
  if ((uint32_t)kind >= EYRIE_ARITHMETIC_KINDS)
    return eyrie_reject(handle, EYRIE_BAD_ARGUMENT, "kind: is %u: give EYRIE_ADD to EYRIE_DIV",
                        (uint32_t)kind);
  if (kind > EYRIE_MUL && fused != EYRIE_NONE)
    return eyrie_reject(handle, EYRIE_BAD_ARGUMENT, "fused: is %u: of this kind it is EYRIE_NONE", (uint32_t)fused);
  if ((uint32_t)fused > EYRIE_RELU_N1_TO_1)
    return eyrie_reject(handle, EYRIE_BAD_ARGUMENT,
                        "fused: is %u: give EYRIE_NONE, EYRIE_RELU, EYRIE_RELU6 or EYRIE_RELU_N1_TO_1",
                        (uint32_t)fused);
  return EYRIE_OK;
}

enum eyrie_result eyrie_arithmetic(struct eyrie_stream *stream, enum eyrie_arithmetic_kind kind,
                                   enum eyrie_function fused, const struct eyrie_tensor *first,
                                   const struct eyrie_tensor *second, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, first, second};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("arithmetic");
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 2, &operation);
  if (result == EYRIE_OK) result = check_kind(stream->handle, kind, fused);
  if (result != EYRIE_OK) return result;
  const struct eyrie_tensor_setting *one = &operation.tensors[1], *other = one + 1;
  const uint32_t h = broadcast(one->h, other->h), w = broadcast(one->w, other->w), c = broadcast(one->c, other->c);
  if (h == 0 || w == 0 || c == 0)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR,
                        "second: is %u x %u x %u, the first %u x %u x %u: give sizes that are equal, or one of them 1",
                        other->h, other->w, other->c, one->h, one->w, one->c);
  result = eyrie_check_output(&operation, h, w, c);
  if (result == EYRIE_OK && (kind == EYRIE_MAXIMUM || kind == EYRIE_MINIMUM)) result = check_same(&operation);
  asked.kind = kind;
  asked.fused = fused;
  return result == EYRIE_OK ? eyrie_add_program(&operation, &asked) : result;
}

enum eyrie_result eyrie_concatenation(struct eyrie_stream *stream, const struct eyrie_tensor *first,
                                      const struct eyrie_tensor *second, const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, first, second};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("concatenation");
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 2, &operation);
  if (result != EYRIE_OK) return result;
  const struct eyrie_tensor_setting *one = &operation.tensors[1], *other = one + 1;
  if (one->h != other->h || one->w != other->w)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR, "second: is %u x %u, the first %u x %u: give equal sizes",
                        other->h, other->w, one->h, one->w);
  if (one->c > UINT32_MAX - other->c)
    return eyrie_reject(stream->handle, EYRIE_BAD_DESCRIPTOR, "second: %u channels are too many beside %u", other->c,
                        one->c);
  result = eyrie_check_output(&operation, one->h, one->w, one->c + other->c);
  if (result == EYRIE_OK) result = check_same(&operation);
  return result == EYRIE_OK ? eyrie_add_program(&operation, &asked) : result;
}

enum eyrie_result eyrie_local_response_normalization(struct eyrie_stream *stream,
                                                     const struct eyrie_normalization_descriptor *normalization,
                                                     const struct eyrie_tensor *input,
                                                     const struct eyrie_tensor *output) {
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("local_response_normalization");
  const struct eyrie_tensor_setting *in = &operation.tensors[1];
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK && normalization == NULL) result = eyrie_reject_null(stream->handle, "normalization");
  if (result == EYRIE_OK) result = eyrie_check_set(stream->handle, "normalization", normalization->state);
  if (result == EYRIE_OK) result = eyrie_check_output(&operation, in->h, in->w, in->c);
  if (result != EYRIE_OK) return result;
  asked.normalization = &normalization->setting;
  return eyrie_add_program(&operation, &asked);
}

/* The tensors of an LSTM cell, as eyrie_lstm_cell takes them. */
enum cell_tensor { NEXT_HIDDEN, NEXT_CELL, INPUT, HIDDEN, CELL, CELL_TENSORS };

/* Checks the sizes of an LSTM cell's tensors and filters. */
static enum eyrie_result check_cell(const struct eyrie_operation *operation, const char *const *names,
                                    const struct eyrie_filter_setting *filter) {
  struct eyrie_handle *handle = operation->stream->handle;
  const struct eyrie_tensor_setting *in = &operation->tensors[INPUT], *cell = &operation->tensors[CELL];
  for (uint32_t n = 0; n < CELL_TENSORS; n++) {
    const struct eyrie_tensor_setting *of = &operation->tensors[n];
    if (of->h != cell->h || of->w != cell->w || (n != INPUT && of->c != cell->c))
      return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR, "%s: is %u x %u x %u, the cell %u x %u x %u: give equal %s",
                          names[n], of->h, of->w, of->c, cell->h, cell->w, cell->c,
                          n == INPUT ? "rows and columns" : "sizes");
  }
  if (filter->r == 1 && filter->s == 1 && filter->m % 4 == 0 && filter->m / 4 == cell->c && filter->c > in->c &&
      filter->c - in->c == cell->c) return EYRIE_OK;
  return eyrie_reject(handle, EYRIE_BAD_DESCRIPTOR,
                      "filter: is %u x %u x %u x %u, of %u channels and a cell of %u it is 4 * %u x 1 x 1 x %u + %u",
                      filter->m, filter->r, filter->s, filter->c, in->c, cell->c, cell->c, in->c, cell->c);
}

enum eyrie_result eyrie_lstm_cell(struct eyrie_stream *stream, const struct eyrie_lstm_descriptor *lstm,
                                  const struct eyrie_tensor *input, const struct eyrie_tensor *hidden,
                                  const struct eyrie_tensor *cell, const struct eyrie_filter *filter, uint32_t bias,
                                  const struct eyrie_tensor *next_hidden, const struct eyrie_tensor *next_cell) {
  static const char *const names[CELL_TENSORS] = {"next_hidden", "next_cell", "input", "hidden", "cell"};
  const struct eyrie_tensor *const tensors[CELL_TENSORS] = {next_hidden, next_cell, input, hidden, cell};
  struct eyrie_operation operation;
  struct eyrie_asked asked = eyrie_asked_of("lstm_cell");
  enum eyrie_result result = eyrie_take(stream, tensors, names, 2, 3, &operation);
  if (result == EYRIE_OK && lstm == NULL) result = eyrie_reject_null(stream->handle, "lstm");
  if (result == EYRIE_OK) result = eyrie_check_set(stream->handle, "lstm", lstm->state);
  if (result == EYRIE_OK) result = eyrie_take_filter(stream->handle, filter, bias, &asked);
  if (result == EYRIE_OK) result = check_cell(&operation, names, asked.filter);
  if (result != EYRIE_OK) return result;
  asked.lstm = &lstm->setting;
  return eyrie_add_program(&operation, &asked);
}

enum eyrie_result eyrie_softmax(struct eyrie_stream *stream, float beta, const struct eyrie_tensor *input,
                                const struct eyrie_tensor *output) {
  static const struct eyrie_tensor_setting made = {1, 1, 1, 1, SOFTMAX_SCALE, SOFTMAX_ZERO_POINT};
  const struct eyrie_tensor *const tensors[] = {output, input};
  struct eyrie_operation operation;
  const struct eyrie_tensor_setting *in = &operation.tensors[1];
  enum eyrie_result result = eyrie_take_tensors(stream, tensors, 1, &operation);
  if (result == EYRIE_OK && !(beta > 0.0f && beta < 3.4e38f))
    result = eyrie_reject(stream->handle, EYRIE_BAD_ARGUMENT, "beta: is %f: must be positive and finite", (double)beta);
  if (result == EYRIE_OK) result = eyrie_check_output(&operation, in->h, in->w, in->c);
  if (result == EYRIE_OK) result = eyrie_check_scale(&operation, &made);
  if (result == EYRIE_OK && in->c > EYRIE_SOFTMAX_CHANNELS)
    result = eyrie_reject(stream->handle, EYRIE_NOT_SUPPORTED,
                          "a softmax of more than %u channels (%u): their exponentials have no sum that fits",
                          EYRIE_SOFTMAX_CHANNELS, in->c);
  if (result != EYRIE_OK) return result;
  eyrie_find_allocation(stream->handle, operation.places[0])->digested = 0;
  operation.beta = beta;
  return eyrie_add(stream->handle, &operation);
}

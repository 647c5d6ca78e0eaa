/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program an operator has: the key, and where it is found.
 */

#include "eyrie_library.h"

#define READ_BYTES 64u /* at a time */

static const char *const function_names[EYRIE_FUNCTIONS] = {
    "NONE", "RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH", "ELU", "EXP"};

static const char *const arithmetic_names[EYRIE_ARITHMETIC_KINDS] = {"ADD",     "SUB",     "MUL",
                                                                     "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE",
                                                                     "DIV"};

/* ---- Parts of a key ---- */

/* " name=1,2,3" */
static void add_numbers(struct eyrie_text *text, const char *name, const uint32_t *numbers, uint32_t count) {
  eyrie_add_text(text, name);
  for (uint32_t n = 0; n < count; n++) {
    if (n > 0) eyrie_add_text(text, ",");
    eyrie_add_number(text, numbers[n], 10, 1);
  }
}

/* The bits of a number of single precision; memcpy is the C library's. */
static uint32_t bits_of(float value) {
  uint32_t bits = 0;
  const unsigned char *from = (const unsigned char *)&value;
  unsigned char *to = (unsigned char *)&bits;
  for (uint32_t n = 0; n < sizeof bits; n++) to[n] = from[n];
  return bits;
}

/* " name=<bits>" */
static void add_real(struct eyrie_text *text, const char *name, float value) {
  eyrie_add_text(text, name);
  eyrie_add_number(text, bits_of(value), 16, 8);
}

/* "<bits of the scale>,<zero point>" */
static void add_quantization(struct eyrie_text *text, float scale, int32_t zero_point) {
  add_real(text, "", scale);
  eyrie_add_text(text, ",");
  eyrie_add_signed(text, zero_point);
}

/* " name=h,w,c,<bits of the scale>,<zero point>" */
static void add_tensor(struct eyrie_text *text, const char *name, const struct eyrie_tensor_setting *setting) {
  const uint32_t sizes[] = {setting->h, setting->w, setting->c};
  add_numbers(text, name, sizes, 3);
  eyrie_add_text(text, ",");
  add_quantization(text, setting->scale, setting->zero_point);
}

/* ---- Constants ---- */

/* Of so many bytes of an allocation, which is asked for once. */
static const uint8_t *digest_of(struct eyrie_handle *handle, uint32_t place, uint32_t bytes) {
  struct eyrie_allocation *allocation = eyrie_find_allocation(handle, place);
  const struct eyrie_platform *platform = &handle->device.platform;
  if (allocation->digested == bytes) return allocation->digest;
  struct eyrie_sha256 sha;
  eyrie_sha256_begin(&sha);
  for (uint32_t begin = 0; begin < bytes; begin += READ_BYTES) {
    uint8_t buffer[READ_BYTES];
    const uint32_t taken = bytes - begin < READ_BYTES ? bytes - begin : READ_BYTES;
    platform->read_memory(platform->context, place + begin, buffer, taken);
    eyrie_sha256_add(&sha, buffer, taken);
  }
  eyrie_sha256_end(&sha, allocation->digest);
  allocation->digested = bytes;
  return allocation->digest;
}

/* Of the scales, lowest byte first, and of the digests of filters and bias. */
static void add_constants(struct eyrie_text *text, struct eyrie_handle *handle, const struct eyrie_request *request) {
  uint8_t digest[EYRIE_DIGEST_BYTES];
  struct eyrie_sha256 sha;
  eyrie_sha256_begin(&sha);
  for (uint32_t n = 0; n < request->scale_count; n++) {
    uint8_t bytes[4];
    for (uint32_t m = 0; m < 4; m++) bytes[m] = (uint8_t)(bits_of(request->scales[n]) >> 8 * m);
    eyrie_sha256_add(&sha, bytes, 4);
  }
  eyrie_sha256_add(&sha, digest_of(handle, request->filters, request->filter_bytes), EYRIE_DIGEST_BYTES);
  if (request->bias_bytes != 0)
    eyrie_sha256_add(&sha, digest_of(handle, request->bias, request->bias_bytes), EYRIE_DIGEST_BYTES);
  eyrie_sha256_end(&sha, digest);
  eyrie_add_text(text, " constants=");
  for (uint32_t n = 0; n < EYRIE_DIGEST_BYTES; n++) eyrie_add_number(text, digest[n], 16, 2);
}

/* ---- Keys ---- */

static void add_settings(struct eyrie_text *text, const struct eyrie_asked *asked) {
  if (asked->convolution != NULL) {
    add_numbers(text, " stride=", asked->convolution->stride, 2);
    add_numbers(text, " dilation=", asked->convolution->dilation, 2);
    add_numbers(text, " pads=", asked->convolution->pads, 4);
    add_numbers(text, " groups=", &asked->convolution->groups, 1);
    eyrie_add_text(text, " fused=");
    eyrie_add_text(text, function_names[asked->convolution->fused]);
  }
  if (asked->pooling != NULL) {
    eyrie_add_text(text, asked->pooling->kind == EYRIE_MAX ? " kind=max" : " kind=average");
    add_numbers(text, " kernel=", asked->pooling->kernel, 2);
    add_numbers(text, " stride=", asked->pooling->stride, 2);
    add_numbers(text, " pads=", asked->pooling->pads, 4);
  }
  if (asked->activation != NULL) {
    eyrie_add_text(text, " function=");
    eyrie_add_text(text, function_names[asked->activation->function]);
    add_real(text, " alpha=", asked->activation->alpha);
  }
  if (asked->normalization != NULL) {
    add_numbers(text, " radius=", &asked->normalization->radius, 1);
    add_real(text, " alpha=", asked->normalization->alpha);
    add_real(text, " beta=", asked->normalization->beta);
    add_real(text, " k=", asked->normalization->k);
  }
  if (asked->lstm != NULL) {
    eyrie_add_text(text, " sums=");
    add_quantization(text, asked->lstm->scale, asked->lstm->zero_point);
  }
  if (asked->kind != EYRIE_ARITHMETIC_KINDS) {
    eyrie_add_text(text, " kind=");
    eyrie_add_text(text, arithmetic_names[asked->kind]);
    eyrie_add_text(text, " fused=");
    eyrie_add_text(text, function_names[asked->fused]);
  }
}

static void write_key(struct eyrie_handle *handle, const struct eyrie_asked *asked,
                      const struct eyrie_request *request) {
  static const char *const inputs[EYRIE_MOST_INPUTS] = {" input0=", " input1=", " input2="};
  static const char *const outputs[EYRIE_MOST_OUTPUTS] = {" output=", " output1="};
  struct eyrie_text text = {handle->message, 0};
  eyrie_add_text(&text, asked->name);
  for (uint32_t n = 0; n < asked->inputs; n++) add_tensor(&text, inputs[n], &asked->tensors[asked->outputs + n]);
  for (uint32_t n = 0; n < asked->outputs; n++) add_tensor(&text, outputs[n], &asked->tensors[n]);
  add_settings(&text, asked);
  if (asked->filter != NULL) {
    const struct eyrie_filter_setting *of = asked->filter;
    const uint32_t sizes[] = {of->m, of->r, of->s, of->c}, bias = request->bias_bytes != 0;
    add_numbers(&text, " filters=", sizes, 4);
    add_numbers(&text, " scales=", &of->scale_count, 1);
    add_numbers(&text, " bias=", &bias, 1);
    add_constants(&text, handle, request);
  }
  add_numbers(&text, " config=", handle->device.platform.sizes, EYRIE_SIZES);
}

/* ---- Programs ---- */

static bool are_equal(const char *one, const char *other) {
  for (; *one == *other; one++, other++)
    if (*one == '\0') return true;
  return false;
}

static bool has_values(const struct eyrie_map *map, const struct eyrie_tensor_setting *setting) {
  return (uint64_t)map->height * map->width * map->channels == (uint64_t)setting->h * setting->w * setting->c;
}

uint32_t eyrie_input_of(const char *name) {
  static const char *const names[EYRIE_MOST_INPUTS] = {"input0", "input1", "input2"};
  uint32_t n = 0;
  while (n < EYRIE_MOST_INPUTS && (name == NULL || !are_equal(name, names[n]))) n++;
  return n;
}

/* Whether a program is one of these tensors. An input that does not change the result is not among its inputs. */
static bool is_program(const struct eyrie_program *program, const struct eyrie_asked *asked) {
  static const char *const names[EYRIE_MOST_OUTPUTS] = {"output", "output1"};
  const struct eyrie_network *network = program->network;
  if (network == NULL || program->image == NULL || network->images != 1 || network->output_count != asked->outputs ||
      network->input_count < 1 || network->input_count > asked->inputs || network->inputs == NULL ||
      network->outputs == NULL) return false;
  for (uint32_t n = 0; n < asked->outputs; n++) {
    const struct eyrie_map *made = &network->outputs[n];
    if (made->name == NULL || !are_equal(made->name, names[n]) || !has_values(made, &asked->tensors[n])) return false;
  }
  for (uint32_t n = 0; n < network->input_count; n++) {
    const uint32_t of = eyrie_input_of(network->inputs[n].name);
    if (of >= asked->inputs || !has_values(&network->inputs[n], &asked->tensors[asked->outputs + of])) return false;
  }
  return true;
}

enum eyrie_result eyrie_find_program(struct eyrie_handle *handle, const struct eyrie_asked *asked,
                                     const struct eyrie_program **program) {
  const struct eyrie_programs *programs = handle->programs;
  struct eyrie_request request = {handle->message, &handle->device.platform, NULL, 0, 0, 0, 0, 0, handle->message};
  if (asked->filter != NULL) {
    request.scales = asked->filter->scales;
    request.scale_count = asked->filter->scale_count;
    request.filters = asked->filters;
    request.filter_bytes = eyrie_filter_bytes(asked->filter);
    request.bias = asked->bias;
    request.bias_bytes = asked->bias != EYRIE_NO_BIAS ? 4 * asked->filter->m : 0;
  }
  write_key(handle, asked, &request);
  enum eyrie_result result = EYRIE_NOT_COMPILED;
  for (uint32_t n = 0; n < programs->count && result == EYRIE_NOT_COMPILED; n++) {
    if (!are_equal(programs->table[n].key, request.key)) continue;
    *program = &programs->table[n];
    result = EYRIE_OK;
  }
  if (result == EYRIE_NOT_COMPILED && programs->compile != NULL)
    result = programs->compile(programs->context, &request, program);
  if (result == EYRIE_OK && !is_program(*program, asked))
    return eyrie_reject(handle, EYRIE_BAD_NETWORK, "programs: the program of this %s is of other tensors, or damaged",
                        asked->name);
  if (result == EYRIE_OK) handle->message[0] = '\0';
  return result;
}

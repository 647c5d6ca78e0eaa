/* SPDX-License-Identifier: Apache-2.0 */

#include "eyrie_library.h"

#define WORD_CHANNELS 8u
#define NARROW_GROUPS 1024u /* from which on a map of one column does without a second word in its rows */
#define LARGEST_FLOAT 3.4e38f

static bool is_scale(float value) { return value > 0.0f && value < LARGEST_FLOAT; }

static bool are_at_least(const uint32_t *values, uint32_t count, uint32_t least) {
  for (uint32_t n = 0; n < count; n++)
    if (values[n] < least) return false;
  return true;
}

/* The product of factors that fits 32 bits; 0: it does not, or one is 0. */
static uint32_t product_of(const uint32_t *factors, uint32_t count) {
  uint64_t product = 1;
  for (uint32_t n = 0; n < count; n++) {
    product *= factors[n];
    if (product > UINT32_MAX) return 0;
  }
  return (uint32_t)product;
}

static uint32_t groups_of(uint32_t channels) { return channels / WORD_CHANNELS + (channels % WORD_CHANNELS != 0); }

static uint32_t pitch_of(uint32_t width, uint32_t groups) {
  const bool narrow = width == 1 && groups >= NARROW_GROUPS && groups % 2 == 0;
  return narrow ? 1 : width + width % 2;
}

struct eyrie_map eyrie_map_of(const struct eyrie_tensor_setting *setting) {
  const uint32_t groups = groups_of(setting->c);
  const struct eyrie_map map = {NULL, 0, setting->h, setting->w, setting->c, groups, pitch_of(setting->w, groups),
                                false, setting->scale, setting->zero_point, {0, 0, 0, 0, 0, 0, 0, 0},
                                NULL};
  return map;
}

uint32_t eyrie_map_bytes(const struct eyrie_map *map) {
  const uint32_t factors[] = {map->height, map->groups, map->pitch, EYRIE_WORD_BYTES};
  return product_of(factors, 4);
}

uint32_t eyrie_tensor_bytes(const struct eyrie_tensor_setting *setting) {
  const struct eyrie_map map = eyrie_map_of(setting);
  const uint32_t factors[] = {setting->n, eyrie_map_bytes(&map)};
  return product_of(factors, 2);
}

uint32_t eyrie_filter_bytes(const struct eyrie_filter_setting *setting) {
  const uint32_t factors[] = {setting->m, setting->r, setting->s, setting->c};
  return product_of(factors, 4);
}

/* Whether a setting means something. */

static bool is_quantization(float scale, int32_t zero_point) {
  return is_scale(scale) && zero_point >= -128 && zero_point <= 127;
}

static bool is_tensor(const struct eyrie_tensor_setting *of) {
  return of->w < UINT32_MAX && eyrie_tensor_bytes(of) != 0 && is_quantization(of->scale, of->zero_point);
}

static bool is_filter(const struct eyrie_filter_setting *of) {
  if (eyrie_filter_bytes(of) == 0 || of->scales == NULL) return false;
  if (of->scale_count != 1 && of->scale_count != of->m) return false;
  for (uint32_t n = 0; n < of->scale_count; n++)
    if (!is_scale(of->scales[n])) return false;
  return true;
}

static bool is_convolution(const struct eyrie_convolution_setting *of) {
  return are_at_least(of->stride, 2, 1) && are_at_least(of->dilation, 2, 1) && of->groups > 0 &&
         (uint32_t)of->fused <= EYRIE_RELU_N1_TO_1;
}

static bool is_pooling(const struct eyrie_pooling_setting *of) {
  return (uint32_t)of->kind <= EYRIE_AVERAGE && are_at_least(of->kernel, 2, 1) && are_at_least(of->stride, 2, 1);
}

static bool is_activation(const struct eyrie_activation_setting *of) {
  return of->function != EYRIE_NONE && (uint32_t)of->function < EYRIE_FUNCTIONS && of->alpha < LARGEST_FLOAT &&
         of->alpha > -LARGEST_FLOAT;
}

static bool is_normalization(const struct eyrie_normalization_setting *of) {
  return of->radius > 0 && is_scale(of->alpha) && is_scale(of->beta) && is_scale(of->k);
}

static bool is_lstm(const struct eyrie_lstm_setting *of) { return is_quantization(of->scale, of->zero_point); }

static bool is_descriptor(uint32_t state) { return state == EYRIE_STATE_CREATED || state == EYRIE_STATE_SET; }

#define FUNCTIONS(kind)                                                                                             \
  enum eyrie_result eyrie_create_##kind##_descriptor(struct eyrie_##kind##_descriptor *descriptor) {                \
    if (descriptor == NULL) return EYRIE_BAD_ARGUMENT;                                                              \
    descriptor->state = EYRIE_STATE_CREATED;                                                                        \
    return EYRIE_OK;                                                                                                \
  }                                                                                                                 \
  enum eyrie_result eyrie_set_##kind##_descriptor(struct eyrie_##kind##_descriptor *descriptor,                     \
                                                  const struct eyrie_##kind##_setting *setting) {                   \
    if (descriptor == NULL || setting == NULL) return EYRIE_BAD_ARGUMENT;                                           \
    if (!is_descriptor(descriptor->state)) return EYRIE_BAD_DESCRIPTOR;                                             \
    if (!is_##kind(setting)) return EYRIE_BAD_ARGUMENT;                                                             \
    descriptor->setting = *setting;                                                                                 \
    descriptor->state = EYRIE_STATE_SET;                                                                            \
    return EYRIE_OK;                                                                                                \
  }                                                                                                                 \
  enum eyrie_result eyrie_get_##kind##_descriptor(const struct eyrie_##kind##_descriptor *descriptor,               \
                                                  struct eyrie_##kind##_setting *setting) {                         \
    if (descriptor == NULL || setting == NULL) return EYRIE_BAD_ARGUMENT;                                           \
    if (descriptor->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;                                          \
    *setting = descriptor->setting;                                                                                 \
    return EYRIE_OK;                                                                                                \
  }                                                                                                                 \
  enum eyrie_result eyrie_destroy_##kind##_descriptor(struct eyrie_##kind##_descriptor *descriptor) {               \
    if (descriptor == NULL) return EYRIE_BAD_ARGUMENT;                                                              \
    descriptor->state = EYRIE_STATE_GONE;                                                                           \
    return EYRIE_OK;                                                                                                \
  }

FUNCTIONS(tensor)
FUNCTIONS(filter)
FUNCTIONS(convolution)
FUNCTIONS(pooling)
FUNCTIONS(activation)
FUNCTIONS(normalization)
FUNCTIONS(lstm)

enum eyrie_result eyrie_get_tensor_bytes(const struct eyrie_tensor_descriptor *descriptor, uint32_t *bytes) {
  struct eyrie_tensor_setting setting;
  if (bytes == NULL) return EYRIE_BAD_ARGUMENT;
  const enum eyrie_result result = eyrie_get_tensor_descriptor(descriptor, &setting);
  if (result == EYRIE_OK) *bytes = eyrie_tensor_bytes(&setting);
  return result;
}

enum eyrie_result eyrie_get_filter_bytes(const struct eyrie_filter_descriptor *descriptor, uint32_t *bytes) {
  struct eyrie_filter_setting setting;
  if (bytes == NULL) return EYRIE_BAD_ARGUMENT;
  const enum eyrie_result result = eyrie_get_filter_descriptor(descriptor, &setting);
  if (result == EYRIE_OK) *bytes = eyrie_filter_bytes(&setting);
  return result;
}

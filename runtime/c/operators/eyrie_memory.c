/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that allocate, free and copy. Those that free or copy wait for all streams first.
 */

#include "eyrie_library.h"

#define COPY_BYTES 64u /* at a time */

enum eyrie_result eyrie_malloc(struct eyrie_handle *handle, uint32_t bytes, uint32_t *place) {
  const enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  if (bytes == 0) return eyrie_reject(handle, EYRIE_BAD_ARGUMENT, "bytes: 0: give at least 1");
  if (place == NULL) return eyrie_reject_null(handle, "place");
  const struct eyrie_allocation *found = eyrie_room_for(handle, bytes);
  if (found == NULL)
    return eyrie_reject(handle, EYRIE_NO_MEMORY,
                        "bytes: %u have no room beside %u allocations (of at most %u) in a window of %u bytes: "
                        "free some",
                        bytes, handle->allocation_count, EYRIE_MOST_ALLOCATIONS,
                        handle->device.platform.window_bytes);
  *place = found->place;
  return EYRIE_OK;
}

enum eyrie_result eyrie_free(struct eyrie_handle *handle, uint32_t place) {
  enum eyrie_result result = eyrie_synchronize(handle);
  if (result != EYRIE_OK) return result;
  result = eyrie_check_place(handle, "place", place, 0);
  if (result == EYRIE_OK) eyrie_give(handle, eyrie_find_allocation(handle, place));
  return result;
}

/* ---- Copies ---- */

/* What a copy does first; the allocation is about to be written, if `writes`. */
static enum eyrie_result begin_copy(struct eyrie_handle *handle, const char *what, uint32_t place, uint32_t bytes,
                                    bool writes) {
  enum eyrie_result result = eyrie_synchronize(handle);
  if (result == EYRIE_OK) result = eyrie_check_place(handle, what, place, bytes);
  if (result == EYRIE_OK && writes) eyrie_find_allocation(handle, place)->digested = 0;
  return result;
}

static enum eyrie_result check_count(struct eyrie_handle *handle, size_t count, uint32_t wanted) {
  if (count == wanted) return EYRIE_OK;
  return eyrie_reject(handle, EYRIE_BAD_SIZE, "count: %z values, the descriptor says %u", count, wanted);
}

static enum eyrie_result begin_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor,
                                      const int8_t *values, size_t count, bool writes) {
  enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  if (tensor == NULL || tensor->descriptor == NULL) return eyrie_reject_null(handle, "tensor");
  if (values == NULL) return eyrie_reject_null(handle, "values");
  const struct eyrie_tensor_setting *setting = &tensor->descriptor->setting;
  result = eyrie_check_set(handle, "tensor", tensor->descriptor->state);
  if (result == EYRIE_OK) result = check_count(handle, count, setting->n * setting->h * setting->w * setting->c);
  return result == EYRIE_OK ? begin_copy(handle, "tensor", tensor->place, eyrie_tensor_bytes(setting), writes) : result;
}

enum eyrie_result eyrie_copy_to_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor,
                                       const int8_t *values, size_t count) {
  const enum eyrie_result result = begin_tensor(handle, tensor, values, count, true);
  if (result != EYRIE_OK) return result;
  const struct eyrie_map map = eyrie_map_of(&tensor->descriptor->setting);
  for (uint32_t n = 0; n < tensor->descriptor->setting.n; n++) {
    const struct eyrie_values given = {NULL, values + (size_t)n * map.height * map.width * map.channels, NULL, 0};
    eyrie_write_map(&handle->device.platform, &map, tensor->place + n * eyrie_map_bytes(&map), &given);
  }
  return EYRIE_OK;
}

enum eyrie_result eyrie_copy_from_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor,
                                         int8_t *values, size_t count) {
  const enum eyrie_result result = begin_tensor(handle, tensor, values, count, false);
  if (result != EYRIE_OK) return result;
  const struct eyrie_map map = eyrie_map_of(&tensor->descriptor->setting);
  const uint32_t each = map.height * map.width * map.channels;
  for (uint32_t n = 0; n < tensor->descriptor->setting.n; n++) {
    const struct eyrie_values made = {&handle->device.platform, NULL, &map, tensor->place + n * eyrie_map_bytes(&map)};
    for (uint32_t number = 0; number < each; number++) *values++ = eyrie_value(&made, number);
  }
  return EYRIE_OK;
}

static enum eyrie_result begin_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter,
                                      const int8_t *values, size_t count, bool writes) {
  enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  if (filter == NULL || filter->descriptor == NULL) return eyrie_reject_null(handle, "filter");
  if (values == NULL) return eyrie_reject_null(handle, "values");
  result = eyrie_check_set(handle, "filter", filter->descriptor->state);
  if (result != EYRIE_OK) return result;
  const uint32_t bytes = eyrie_filter_bytes(&filter->descriptor->setting);
  result = check_count(handle, count, bytes);
  return result == EYRIE_OK ? begin_copy(handle, "filter", filter->place, bytes, writes) : result;
}

enum eyrie_result eyrie_copy_to_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter,
                                       const int8_t *values, size_t count) {
  const enum eyrie_result result = begin_filter(handle, filter, values, count, true);
  if (result != EYRIE_OK) return result;
  const struct eyrie_platform *platform = &handle->device.platform;
  for (uint32_t begin = 0; begin < count; begin += COPY_BYTES) {
    uint8_t bytes[COPY_BYTES];
    uint32_t n = 0;
    for (; n < COPY_BYTES && begin + n < count; n++) bytes[n] = (uint8_t)values[begin + n];
    platform->write_memory(platform->context, filter->place + begin, bytes, n);
  }
  return EYRIE_OK;
}

enum eyrie_result eyrie_copy_from_filter(struct eyrie_handle *handle, const struct eyrie_filter *filter,
                                         int8_t *values, size_t count) {
  const enum eyrie_result result = begin_filter(handle, filter, values, count, false);
  if (result != EYRIE_OK) return result;
  const struct eyrie_platform *platform = &handle->device.platform;
  for (uint32_t begin = 0; begin < count; begin += COPY_BYTES) {
    uint8_t bytes[COPY_BYTES];
    const uint32_t left = (uint32_t)count - begin, taken = left < COPY_BYTES ? left : COPY_BYTES;
    platform->read_memory(platform->context, filter->place + begin, bytes, taken);
    for (uint32_t n = 0; n < taken; n++) values[begin + n] = (int8_t)(bytes[n] < 128 ? bytes[n] : bytes[n] - 256);
  }
  return EYRIE_OK;
}

enum eyrie_result eyrie_copy_to_bias(struct eyrie_handle *handle, uint32_t place, const int32_t *values, size_t count) {
  enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  if (values == NULL) return eyrie_reject_null(handle, "values");
  if (count == 0) return eyrie_reject(handle, EYRIE_BAD_ARGUMENT, "count: 0: give at least 1");
  if (count > UINT32_MAX / 4)
    return eyrie_reject(handle, EYRIE_BAD_SIZE, "count: %z: give at most %u", count, UINT32_MAX / 4);
  result = begin_copy(handle, "place", place, 4 * (uint32_t)count, true);
  if (result != EYRIE_OK) return result;
  const struct eyrie_platform *platform = &handle->device.platform;
  for (uint32_t n = 0; n < count; n++) {
    uint8_t bytes[4];
    for (uint32_t m = 0; m < 4; m++) bytes[m] = (uint8_t)((uint32_t)values[n] >> 8 * m);
    platform->write_memory(platform->context, place + 4 * n, bytes, 4);
  }
  return EYRIE_OK;
}

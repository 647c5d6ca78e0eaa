/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations in the window, first fit. Programs lie there, too, until there is no room: those that were used longest
 * ago leave first.
 */

#include "eyrie_library.h"

#define STEP 64u         /* where networks may begin */
#define COPY_BYTES 64u   /* at a time */

/* ---- Allocations ---- */

struct eyrie_allocation *eyrie_find_allocation(struct eyrie_handle *handle, uint32_t place) {
  for (uint32_t n = 0; n < handle->allocation_count; n++) {
    struct eyrie_allocation *found = &handle->allocations[n];
    if (found->place == place) return found->program == NULL ? found : NULL;
  }
  return NULL;
}

enum eyrie_result eyrie_check_place(struct eyrie_handle *handle, uint32_t place, uint32_t bytes) {
  const struct eyrie_allocation *found = eyrie_find_allocation(handle, place);
  return found != NULL && found->bytes >= bytes ? EYRIE_OK : EYRIE_BAD_POINTER;
}

/* Takes so many bytes where they have room first; NULL: nowhere. */
static struct eyrie_allocation *take(struct eyrie_handle *handle, uint32_t bytes) {
  struct eyrie_allocation *all = handle->allocations;
  uint64_t begin = 0;
  uint32_t at = 0;
  if (handle->allocation_count == EYRIE_MOST_ALLOCATIONS) return NULL;
  for (; at < handle->allocation_count && all[at].place < begin + bytes; at++)
    begin = ((uint64_t)all[at].place + all[at].bytes + STEP - 1) / STEP * STEP;
  if (begin + bytes > handle->device.platform.window_bytes) return NULL;
  for (uint32_t n = handle->allocation_count; n > at; n--) all[n] = all[n - 1];
  handle->allocation_count++;
  all[at].place = (uint32_t)begin;
  all[at].bytes = bytes;
  all[at].program = NULL;
  all[at].digested = 0;
  return &all[at];
}

static void give(struct eyrie_handle *handle, struct eyrie_allocation *allocation) {
  handle->allocation_count--;
  for (uint32_t n = (uint32_t)(allocation - handle->allocations); n < handle->allocation_count; n++)
    handle->allocations[n] = handle->allocations[n + 1];
}

/* The program that was used longest ago; NULL: there is none. It may be the one that runs: whatever takes its place is
 * written only when that has ended. */
static struct eyrie_allocation *oldest_program(struct eyrie_handle *handle) {
  struct eyrie_allocation *found = NULL;
  for (uint32_t n = 0; n < handle->allocation_count; n++) {
    struct eyrie_allocation *each = &handle->allocations[n];
    if (each->program != NULL && (found == NULL || each->used < found->used)) found = each;
  }
  return found;
}

/* Takes so many bytes; programs make room for them. */
static struct eyrie_allocation *room_for(struct eyrie_handle *handle, uint32_t bytes) {
  for (;;) {
    struct eyrie_allocation *found = take(handle, bytes), *oldest = oldest_program(handle);
    if (found != NULL || oldest == NULL) return found;
    give(handle, oldest);
  }
}

enum eyrie_result eyrie_malloc(struct eyrie_handle *handle, uint32_t bytes, uint32_t *place) {
  const enum eyrie_result result = check_handle(handle);
  if (result != EYRIE_OK) return result;
  if (bytes == 0 || place == NULL) return EYRIE_BAD_ARGUMENT;
  const struct eyrie_allocation *found = room_for(handle, bytes);
  if (found == NULL) return EYRIE_NO_MEMORY;
  *place = found->place;
  return EYRIE_OK;
}

enum eyrie_result eyrie_free(struct eyrie_handle *handle, uint32_t place) {
  const enum eyrie_result result = eyrie_synchronize(handle);
  if (result != EYRIE_OK) return result;
  struct eyrie_allocation *found = eyrie_find_allocation(handle, place);
  if (found == NULL) return EYRIE_BAD_POINTER;
  give(handle, found);
  return EYRIE_OK;
}

/* ---- Programs ---- */

enum eyrie_result eyrie_put_program(struct eyrie_handle *handle, const struct eyrie_program *program, uint32_t *place) {
  struct eyrie_allocation *found = NULL;
  for (uint32_t n = 0; n < handle->allocation_count && found == NULL; n++)
    if (handle->allocations[n].program == program) found = &handle->allocations[n];
  if (found == NULL) {
    const struct eyrie_network *network = program->network;
    found = room_for(handle, network->bytes);
    if (found == NULL) return EYRIE_NO_MEMORY;
    const struct eyrie_placement placement = {found->place, NULL, NULL};
    const enum eyrie_result result = eyrie_place(&handle->device, network, program->image, network->bytes, &placement);
    if (result != EYRIE_OK) {
      give(handle, found);
      return result;
    }
    found->program = program;
  }
  found->used = ++handle->clock;
  *place = found->place;
  return EYRIE_OK;
}

void eyrie_forget_programs(struct eyrie_handle *handle) {
  for (struct eyrie_allocation *found = oldest_program(handle); found != NULL; found = oldest_program(handle))
    give(handle, found);
}

/* ---- Copies ---- */

/* What a copy does first; the allocation is about to be written, if `writes`. */
static enum eyrie_result begin_copy(struct eyrie_handle *handle, uint32_t place, uint32_t bytes, bool writes) {
  enum eyrie_result result = eyrie_synchronize(handle);
  if (result == EYRIE_OK) result = eyrie_check_place(handle, place, bytes);
  if (result == EYRIE_OK && writes) eyrie_find_allocation(handle, place)->digested = 0;
  return result;
}

static enum eyrie_result begin_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor, size_t count,
                                      bool writes) {
  const struct eyrie_tensor_setting *setting = &tensor->descriptor->setting;
  if (tensor->descriptor->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;
  if (count != (size_t)setting->n * setting->h * setting->w * setting->c) return EYRIE_BAD_SIZE; /* no overflow: set */
  return begin_copy(handle, tensor->place, eyrie_tensor_bytes(setting), writes);
}

enum eyrie_result eyrie_copy_to_tensor(struct eyrie_handle *handle, const struct eyrie_tensor *tensor,
                                       const int8_t *values, size_t count) {
  enum eyrie_result result = check_handle(handle);
  if (result != EYRIE_OK) return result;
  if (tensor == NULL || tensor->descriptor == NULL || values == NULL) return EYRIE_BAD_ARGUMENT;
  result = begin_tensor(handle, tensor, count, true);
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
  enum eyrie_result result = check_handle(handle);
  if (result != EYRIE_OK) return result;
  if (tensor == NULL || tensor->descriptor == NULL || values == NULL) return EYRIE_BAD_ARGUMENT;
  result = begin_tensor(handle, tensor, count, false);
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
  const enum eyrie_result result = check_handle(handle);
  if (result != EYRIE_OK) return result;
  if (filter == NULL || filter->descriptor == NULL || values == NULL) return EYRIE_BAD_ARGUMENT;
  if (filter->descriptor->state != EYRIE_STATE_SET) return EYRIE_BAD_DESCRIPTOR;
  const uint32_t bytes = eyrie_filter_bytes(&filter->descriptor->setting);
  return count != bytes ? EYRIE_BAD_SIZE : begin_copy(handle, filter->place, bytes, writes);
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
  enum eyrie_result result = check_handle(handle);
  if (result != EYRIE_OK) return result;
  if (values == NULL || count == 0) return EYRIE_BAD_ARGUMENT;
  if (count > UINT32_MAX / 4) return EYRIE_BAD_SIZE;
  result = begin_copy(handle, place, 4 * (uint32_t)count, true);
  if (result != EYRIE_OK) return result;
  const struct eyrie_platform *platform = &handle->device.platform;
  for (uint32_t n = 0; n < count; n++) {
    uint8_t bytes[4];
    for (uint32_t m = 0; m < 4; m++) bytes[m] = (uint8_t)((uint32_t)values[n] >> 8 * m);
    platform->write_memory(platform->context, place + 4 * n, bytes, 4);
  }
  return EYRIE_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations in the window, first fit. Programs lie there, too, until there is no room: those that were used longest
 * ago leave first.
 */

#include "eyrie_library.h"

#define STEP 64u /* where networks may begin */

/* ---- Allocations ---- */

struct eyrie_allocation *eyrie_find_allocation(struct eyrie_handle *handle, uint32_t place) {
  for (uint32_t n = 0; n < handle->allocation_count; n++) {
    struct eyrie_allocation *found = &handle->allocations[n];
    if (found->place == place) return found->program == NULL ? found : NULL;
  }
  return NULL;
}

enum eyrie_result eyrie_check_place(struct eyrie_handle *handle, const char *what, uint32_t place, uint32_t bytes) {
  const struct eyrie_allocation *found = eyrie_find_allocation(handle, place);
  if (found == NULL)
    return eyrie_reject(handle, EYRIE_BAD_POINTER, "%s: 0x%x is no allocation: give what eyrie_malloc gave", what,
                        place);
  if (found->bytes < bytes)
    return eyrie_reject(handle, EYRIE_BAD_POINTER,
                        "%s: %u bytes are needed, %u are allocated at 0x%x: allocate as many as its descriptor says",
                        what, bytes, found->bytes, place);
  return EYRIE_OK;
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

void eyrie_give(struct eyrie_handle *handle, struct eyrie_allocation *allocation) {
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
struct eyrie_allocation *eyrie_room_for(struct eyrie_handle *handle, uint32_t bytes) {
  for (;;) {
    struct eyrie_allocation *found = take(handle, bytes), *oldest = oldest_program(handle);
    if (found != NULL || oldest == NULL) return found;
    eyrie_give(handle, oldest);
  }
}

/* ---- Programs ---- */

enum eyrie_result eyrie_put_program(struct eyrie_handle *handle, const struct eyrie_program *program, uint32_t *place) {
  struct eyrie_allocation *found = NULL;
  for (uint32_t n = 0; n < handle->allocation_count && found == NULL; n++)
    if (handle->allocations[n].program == program) found = &handle->allocations[n];
  if (found == NULL) {
    const struct eyrie_network *network = program->network;
    found = eyrie_room_for(handle, network->bytes);
    if (found == NULL) return EYRIE_NO_MEMORY;
    const struct eyrie_placement placement = {found->place, NULL, NULL};
    const enum eyrie_result result = eyrie_place(&handle->device, network, program->image, network->bytes, &placement);
    if (result != EYRIE_OK) {
      eyrie_give(handle, found);
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
    eyrie_give(handle, found);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles and streams: a queue of operators, which calls of the library move on. The accelerator does one at a time, in the
 * order in which they were given.
 */

#include "eyrie_library.h"

#define RESET_LOOKS 1000000u

/* ---- The first operator on the accelerator ---- */

static bool is_tensor(const struct eyrie_map *map, const struct eyrie_map *tensor) {
  return map->height == tensor->height && map->width == tensor->width && map->channels == tensor->channels &&
         map->groups == tensor->groups && map->pitch == tensor->pitch && !map->packed && map->patches.rows == 0 &&
         map->table == NULL;
}

/* Starts the first operator's map. Where a map lies in the program as it does in the tensor, the program works on the
 * tensor itself; otherwise the host copies. */
static enum eyrie_result start_map(struct eyrie_handle *handle, const struct eyrie_operation *operation) {
  const struct eyrie_network *network = operation->program->network;
  const struct eyrie_platform *platform = &handle->device.platform;
  struct eyrie_map maps[EYRIE_MOST_OUTPUTS + EYRIE_MOST_INPUTS];
  uint32_t places[EYRIE_MOST_OUTPUTS + EYRIE_MOST_INPUTS], offset = 0;
  enum eyrie_result result = EYRIE_OK;
  if (handle->stopped) result = eyrie_reset(&handle->device, RESET_LOOKS);
  if (result != EYRIE_OK) return result;
  handle->stopped = false;
  result = eyrie_put_program(handle, operation->program, &offset);
  if (result != EYRIE_OK) return result;
  for (uint32_t n = 0; n < operation->outputs + operation->inputs; n++) {
    maps[n] = eyrie_map_of(&operation->tensors[n]);
    places[n] = operation->places[n] + operation->map * eyrie_map_bytes(&maps[n]);
  }
  for (uint32_t n = 0; n < network->input_count; n++) {
    const struct eyrie_map *input = &network->inputs[n];
    const uint32_t of = operation->outputs + eyrie_input_of(input->name);
    const struct eyrie_values values = {platform, NULL, &maps[of], places[of]};
    const bool itself = is_tensor(input, &maps[of]);
    handle->inputs[n] = itself ? places[of] : offset + input->address;
    if (!itself) eyrie_write_map(platform, input, handle->inputs[n], &values);
  }
  for (uint32_t n = 0; n < operation->outputs; n++) {
    const struct eyrie_map *output = &network->outputs[n];
    handle->outputs[n] = is_tensor(output, &maps[n]) ? places[n] : offset + output->address;
  }
  const struct eyrie_placement placement = {offset, handle->inputs, handle->outputs};
  result = eyrie_bind(&handle->device, network, operation->program->image, &placement);
  return result == EYRIE_OK ? eyrie_start(&handle->device) : result;
}

/* What is left to do when a map's run has ended well. */
static void end_map(struct eyrie_handle *handle, const struct eyrie_operation *operation) {
  const struct eyrie_platform *platform = &handle->device.platform;
  uint64_t cycles = 0;
  (void)eyrie_get_counter(&handle->device, EYRIE_COUNTER_CYCLES, &cycles);
  operation->stream->running_cycles += cycles;
  for (uint32_t n = 0; n < operation->outputs; n++) {
    const struct eyrie_map *made = &operation->program->network->outputs[n], map = eyrie_map_of(&operation->tensors[n]);
    const struct eyrie_values values = {platform, NULL, made, handle->outputs[n]};
    if (!is_tensor(made, &map))
      eyrie_write_map(platform, &map, operation->places[n] + operation->map * eyrie_map_bytes(&map), &values);
  }
}

/* ---- The queue ---- */

static struct eyrie_operation *first_of(struct eyrie_handle *handle) {
  return &handle->operations[handle->first_operation];
}

static void drop_first(struct eyrie_handle *handle) {
  first_of(handle)->stream->waiting--;
  handle->first_operation = (handle->first_operation + 1) % EYRIE_MOST_OPERATIONS;
  handle->operation_count--;
}

/* The first operator has failed. */
static void fail_first(struct eyrie_handle *handle, enum eyrie_result result) {
  struct eyrie_stream *stream = first_of(handle)->stream;
  struct eyrie_error error;
  stream->failure = result;
  stream->failure_text = eyrie_result_text(result);
  stream->failure_bytes = first_of(handle)->program != NULL ? first_of(handle)->program->network->bytes : 0;
  if (result == EYRIE_ACCELERATOR_ERROR && eyrie_get_error(&handle->device, &error) == EYRIE_OK)
    stream->failure_text = eyrie_error_text(error.code);
  if (handle->running) {
    handle->running = false;
    handle->stopped = eyrie_reset(&handle->device, RESET_LOOKS) != EYRIE_OK;
    eyrie_forget_programs(handle); /* whatever stopped it may have written over them */
  }
  drop_first(handle);
}

/* Moves the first operator on; looks: at the accelerator, 0: once, without waiting. EYRIE_OK: it moved. */
static enum eyrie_result step(struct eyrie_handle *handle, uint32_t looks) {
  struct eyrie_operation *operation = first_of(handle);
  enum eyrie_result result = EYRIE_OK;
  if (!handle->running) {
    if (operation->stream->failure != EYRIE_OK) {
      drop_first(handle);
    } else if (operation->program == NULL) {
      eyrie_do_softmax(&handle->device.platform, operation);
      drop_first(handle);
    } else {
      result = start_map(handle, operation);
      if (result == EYRIE_OK) handle->running = true;
      else fail_first(handle, result);
    }
    return EYRIE_OK;
  }
  result = looks > 0 ? eyrie_wait(&handle->device, looks) : eyrie_poll(&handle->device);
  if (result == EYRIE_BUSY || result == EYRIE_TIMEOUT) return result;
  if (looks == 0) (void)eyrie_acknowledge(&handle->device);
  if (result != EYRIE_OK) {
    fail_first(handle, result);
    return EYRIE_OK;
  }
  end_map(handle, operation);
  handle->running = false;
  if (++operation->map == operation->tensors[0].n) drop_first(handle);
  return EYRIE_OK;
}

/* Says a result that is no operator's. */
static enum eyrie_result say(struct eyrie_handle *handle, enum eyrie_result result) {
  return eyrie_reject(handle, result, "%s", eyrie_result_text(result));
}

bool eyrie_is_written(const struct eyrie_handle *handle, uint32_t place) {
  for (uint32_t n = 0; n < handle->operation_count; n++) {
    const struct eyrie_operation *each = &handle->operations[(handle->first_operation + n) % EYRIE_MOST_OPERATIONS];
    for (uint32_t m = 0; m < each->outputs; m++)
      if (each->places[m] == place) return true;
  }
  return false;
}

enum eyrie_result eyrie_add(struct eyrie_handle *handle, const struct eyrie_operation *operation) {
  while (handle->operation_count == EYRIE_MOST_OPERATIONS) {
    const enum eyrie_result result = step(handle, EYRIE_LOOKS);
    if (result != EYRIE_OK) return say(handle, result);
  }
  handle->operations[(handle->first_operation + handle->operation_count++) % EYRIE_MOST_OPERATIONS] = *operation;
  operation->stream->waiting++;
  if (!handle->running) (void)step(handle, 0);
  return EYRIE_OK;
}

/* ---- Streams ---- */

static enum eyrie_result begin_call(const struct eyrie_stream *stream) {
  return stream == NULL ? EYRIE_BAD_ARGUMENT : eyrie_begin(stream->handle);
}

/* Of a stream with nothing that waits: what failed, once. */
static enum eyrie_result end_stream(struct eyrie_stream *stream) {
  const enum eyrie_result failure = stream->failure;
  stream->failure = EYRIE_OK;
  if (stream->running_cycles != 0) stream->cycles = stream->running_cycles;
  stream->running_cycles = 0;
  if (failure == EYRIE_NO_MEMORY)
    return eyrie_reject(stream->handle, failure,
                        "an operator's program of %u bytes has no room in a window of %u bytes: free some tensors",
                        stream->failure_bytes, stream->handle->device.platform.window_bytes);
  return failure == EYRIE_OK ? EYRIE_OK : eyrie_reject(stream->handle, failure, "%s", stream->failure_text);
}

static void begin_stream(struct eyrie_handle *handle, struct eyrie_stream *stream) {
  stream->handle = handle;
  stream->next = NULL;
  stream->waiting = 0;
  stream->failure = EYRIE_OK;
  stream->failure_text = "";
  stream->failure_bytes = 0;
  stream->running_cycles = stream->cycles = 0;
}

enum eyrie_result eyrie_create_stream(struct eyrie_handle *handle, struct eyrie_stream *stream) {
  const enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  if (stream == NULL) return eyrie_reject_null(handle, "stream");
  begin_stream(handle, stream);
  stream->next = handle->stream.next;
  handle->stream.next = stream;
  return EYRIE_OK;
}

enum eyrie_result eyrie_destroy_stream(struct eyrie_stream *stream) {
  enum eyrie_result result = begin_call(stream);
  if (result != EYRIE_OK) return result;
  if (stream == &stream->handle->stream)
    return eyrie_reject(stream->handle, EYRIE_BAD_ARGUMENT,
                        "stream: is the handle's own: give one that eyrie_create_stream made");
  result = eyrie_synchronize_stream(stream);
  if (result == EYRIE_TIMEOUT && stream->waiting > 0) return result;
  struct eyrie_stream *before = &stream->handle->stream;
  while (before->next != NULL && before->next != stream) before = before->next;
  if (before->next == stream) before->next = stream->next;
  stream->handle->message[0] = '\0';
  stream->handle = NULL;
  return EYRIE_OK;
}

enum eyrie_result eyrie_poll_stream(struct eyrie_stream *stream) {
  enum eyrie_result result = begin_call(stream);
  if (result != EYRIE_OK) return result;
  while (stream->waiting > 0 && result == EYRIE_OK) result = step(stream->handle, 0);
  return result == EYRIE_OK ? end_stream(stream) : say(stream->handle, result);
}

enum eyrie_result eyrie_synchronize_stream(struct eyrie_stream *stream) {
  enum eyrie_result result = begin_call(stream);
  if (result != EYRIE_OK) return result;
  while (stream->waiting > 0 && result == EYRIE_OK) result = step(stream->handle, EYRIE_LOOKS);
  return result == EYRIE_OK ? end_stream(stream) : say(stream->handle, result);
}

enum eyrie_result eyrie_synchronize(struct eyrie_handle *handle) {
  enum eyrie_result result = eyrie_begin(handle);
  if (result != EYRIE_OK) return result;
  for (struct eyrie_stream *each = &handle->stream; result == EYRIE_OK && each != NULL; each = each->next)
    result = eyrie_synchronize_stream(each);
  return result;
}

enum eyrie_result eyrie_get_cycles(const struct eyrie_stream *stream, uint64_t *cycles) {
  const enum eyrie_result result = begin_call(stream);
  if (result != EYRIE_OK) return result;
  if (cycles == NULL) return eyrie_reject_null(stream->handle, "cycles");
  *cycles = stream->cycles;
  return EYRIE_OK;
}

/* ---- Handles ---- */

/* Checks one number that caller and library were compiled with. */
static enum eyrie_result check_same(struct eyrie_handle *handle, const char *what, size_t caller, size_t library) {
  if (caller == library) return EYRIE_OK;
  return eyrie_reject(handle, EYRIE_OTHER_LIBRARY,
                      "%s: %z in the caller, %z in the library: compile both with one eyrie.h and the same limits",
                      what, caller, library);
}

enum eyrie_result eyrie_create_handle_of(struct eyrie_handle *handle, const struct eyrie_caller *caller,
                                         const struct eyrie_platform *platform, const struct eyrie_programs *programs) {
  static const struct eyrie_programs none = {NULL, 0, NULL, NULL};
  if (handle == NULL || caller == NULL) return EYRIE_BAD_ARGUMENT;
  if (caller->handle_bytes < offsetof(struct eyrie_handle, device)) return EYRIE_OTHER_LIBRARY;
  handle->state = EYRIE_STATE_GONE;
  enum eyrie_result result = check_same(handle, "EYRIE_VERSION", caller->version, EYRIE_VERSION);
  if (result == EYRIE_OK)
    result = check_same(handle, "EYRIE_MOST_ALLOCATIONS", caller->most_allocations, EYRIE_MOST_ALLOCATIONS);
  if (result == EYRIE_OK)
    result = check_same(handle, "EYRIE_MOST_OPERATIONS", caller->most_operations, EYRIE_MOST_OPERATIONS);
  if (result == EYRIE_OK)
    result = check_same(handle, "sizeof(struct eyrie_handle)", caller->handle_bytes, sizeof *handle);
  if (result != EYRIE_OK) return result;
  result = eyrie_open(&handle->device, platform);
  if (result != EYRIE_OK) return eyrie_reject(handle, result, "platform: %s", eyrie_result_text(result));
  handle->programs = programs != NULL ? programs : &none;
  handle->allocation_count = handle->clock = 0;
  handle->first_operation = handle->operation_count = 0;
  handle->running = handle->stopped = false;
  handle->message[0] = '\0';
  begin_stream(handle, &handle->stream);
  handle->state = EYRIE_STATE_OPEN;
  return EYRIE_OK;
}

enum eyrie_result eyrie_destroy_handle(struct eyrie_handle *handle) {
  if (handle == NULL) return EYRIE_BAD_ARGUMENT;
  handle->message[0] = '\0';
  if (!is_in_use(handle)) return EYRIE_OK;
  while (handle->operation_count > 0)
    if (step(handle, EYRIE_LOOKS) != EYRIE_OK) fail_first(handle, EYRIE_TIMEOUT); /* which stops the accelerator */
  handle->state = EYRIE_STATE_GONE;
  return EYRIE_OK;
}

const char *eyrie_get_message(const struct eyrie_handle *handle) { return handle != NULL ? handle->message : ""; }

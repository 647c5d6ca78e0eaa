/* SPDX-License-Identifier: Apache-2.0 */

#include "eyrie_device.h"

#define WORD_CHANNELS 8u
#define PACKED_CHANNELS 4u      /* of a pixel of a packed map */
#define BUFFER_BYTES 128u       /* that go to or from the memory at a time: whole words */
#define RESET_LOOKS 1000000u    /* of eyrie_open */
#define NOT_IN_LIST UINT32_MAX

/* ---- Opening ---- */

static bool is_platform(const struct eyrie_platform *platform) {
  const uint32_t base = platform->window_base, bytes = platform->window_bytes;
  return platform->read_register != NULL && platform->write_register != NULL && platform->write_memory != NULL &&
         platform->read_memory != NULL && base % EYRIE_WINDOW_STEP == 0 && bytes % EYRIE_WINDOW_STEP == 0 && bytes != 0 &&
         bytes <= UINT32_MAX - base;
}

enum eyrie_result eyrie_open(struct eyrie_device *device, const struct eyrie_platform *platform) {
  if (device == NULL) return EYRIE_BAD_ARGUMENT;
  device->platform.read_register = NULL; /* not open */
  if (platform == NULL) return EYRIE_BAD_ARGUMENT;
  if (!is_platform(platform)) return EYRIE_BAD_PLATFORM;
  if (platform->read_register(platform->context, EYRIE_REGISTER_IDENTITY) != EYRIE_IDENTITY) return EYRIE_NO_ACCELERATOR;
  device->platform = *platform;
  device->network = NULL;
  device->watchdog = EYRIE_WATCHDOG_CYCLES;
  device->interrupt = platform->wait != NULL;
  device->started = false;
  if (read_register(device, EYRIE_REGISTER_STATUS) == 0) return EYRIE_OK;
  const enum eyrie_result result = eyrie_reset(device, RESET_LOOKS);
  if (result != EYRIE_OK) device->platform.read_register = NULL;
  return result;
}

enum eyrie_result eyrie_reset(struct eyrie_device *device, uint32_t looks) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  uint32_t status = EYRIE_STATUS_BUSY;
  device->started = false;
  write_register(device, EYRIE_REGISTER_CONTROL, EYRIE_CONTROL_SOFT_RESET);
  for (uint32_t look = 0; look < looks; look++) {
    status = read_register(device, EYRIE_REGISTER_STATUS);
    if (status == 0) return EYRIE_OK;
  }
  return (status & EYRIE_STATUS_BUS_WAITS) != 0 ? EYRIE_BUS_WAITS : EYRIE_TIMEOUT;
}

/* ---- Maps ---- */

struct place {
  const struct eyrie_map *map;
  uint32_t row; /* offset of the row's first word in the window, in bytes */
  uint32_t group;
  uint32_t y;
};

static uint32_t least(uint32_t one, uint32_t other) { return one < other ? one : other; }

enum eyrie_byte eyrie_byte_of(const struct eyrie_map *map, uint32_t y, uint32_t group, uint32_t n, size_t *index) {
  const struct eyrie_patches whole = {map->height, map->width, 1, 1, 1, 1, 0, 0};
  const struct eyrie_patches *patches = map->patches.rows != 0 ? &map->patches : &whole;
  const uint32_t pixel_bytes = map->packed ? PACKED_CHANNELS : WORD_CHANNELS;
  const uint32_t x = n / pixel_bytes, value = group * WORD_CHANNELS + n % pixel_bytes;
  const uint32_t pixel = value / map->channels;
  /* Of a patch that begins above or to the left of the map, a difference below zero is larger than any map. */
  const uint64_t row = (uint64_t)y * patches->row_step + pixel / patches->width - patches->top;
  const uint64_t column = (uint64_t)x * patches->column_step + pixel % patches->width - patches->left;
  if (x >= patches->cols || pixel >= patches->height * patches->width) return EYRIE_NO_VALUE;
  if (row >= map->height || column >= map->width) return EYRIE_OUTSIDE;
  *index = ((size_t)row * map->width + (size_t)column) * map->channels + value % map->channels;
  return EYRIE_VALUE;
}

/* A byte of an input as it is written. */
static uint8_t written(const struct eyrie_map *map, enum eyrie_byte byte, const int8_t *value) {
  const struct eyrie_table *table = map->table;
  if (byte == EYRIE_NO_VALUE) return 0;
  if (byte == EYRIE_OUTSIDE) return (uint8_t)(table != NULL ? table->zero_point : map->zero_point);
  return (uint8_t)(table != NULL ? table->values[*value + 128] : *value);
}

static void put_row(const struct eyrie_device *device, const struct place *place, const int8_t *values) {
  const uint32_t row_bytes = place->map->pitch * EYRIE_WORD_BYTES;
  for (uint32_t begin = 0; begin < row_bytes; begin += BUFFER_BYTES) {
    uint8_t buffer[BUFFER_BYTES];
    const uint32_t count = least(BUFFER_BYTES, row_bytes - begin);
    for (uint32_t n = 0; n < count; n++) {
      size_t index = 0;
      const enum eyrie_byte byte = eyrie_byte_of(place->map, place->y, place->group, begin + n, &index);
      buffer[n] = written(place->map, byte, &values[index]);
    }
    device->platform.write_memory(device->platform.context, place->row + begin, buffer, count);
  }
}

static void get_row(const struct eyrie_device *device, const struct place *place, int8_t *values) {
  const uint32_t row_bytes = place->map->pitch * EYRIE_WORD_BYTES;
  for (uint32_t begin = 0; begin < row_bytes; begin += BUFFER_BYTES) {
    uint8_t buffer[BUFFER_BYTES];
    const uint32_t count = least(BUFFER_BYTES, row_bytes - begin);
    device->platform.read_memory(device->platform.context, place->row + begin, buffer, count);
    for (uint32_t n = 0; n < count; n++) {
      size_t index;
      if (eyrie_byte_of(place->map, place->y, place->group, begin + n, &index) == EYRIE_VALUE)
        values[index] = (int8_t)(buffer[n] < 128 ? buffer[n] : buffer[n] - 256);
    }
  }
}

/* Where an input or output begins in the window. */
static uint32_t begin_of(const struct eyrie_device *device, const struct eyrie_map *map, const uint32_t *elsewhere,
                         uint32_t number) {
  return elsewhere != NULL ? elsewhere[number] : device->placement.offset + map->address;
}

/* The offset of a row of a group of an image, from the map's first byte. */
static uint32_t row_of(const struct eyrie_map *map, uint32_t image, uint32_t y, uint32_t group) {
  return ((image * laid_rows(map) + y) * map->groups + group) * map->pitch * EYRIE_WORD_BYTES;
}

static enum eyrie_result check_map(const struct eyrie_device *device, const struct eyrie_map *map, uint32_t image,
                                   size_t count) {
  if (image >= device->network->images) return EYRIE_BAD_ARGUMENT;
  const uint64_t pixels = (uint64_t)map->height * map->width; /* of a map that is in the memory: no product overflows */
  return count == pixels * map->channels ? EYRIE_OK : EYRIE_BAD_SIZE;
}

enum eyrie_result eyrie_put_input(struct eyrie_device *device, uint32_t input, uint32_t image, const int8_t *values,
                                  size_t count) {
  if (!is_open(device) || values == NULL) return EYRIE_BAD_ARGUMENT;
  if (device->network == NULL) return EYRIE_NOT_LOADED;
  if (input >= device->network->input_count) return EYRIE_BAD_ARGUMENT;
  const struct eyrie_map *map = &device->network->inputs[input];
  const enum eyrie_result result = check_map(device, map, image, count);
  if (result != EYRIE_OK) return result;
  if (is_busy(device)) return EYRIE_BUSY;
  const uint32_t begin = begin_of(device, map, device->placement.inputs, input);
  for (uint32_t y = 0; y < laid_rows(map); y++) {
    for (uint32_t group = 0; group < map->groups; group++) {
      const struct place place = {map, begin + row_of(map, image, y, group), group, y};
      put_row(device, &place, values);
    }
  }
  return EYRIE_OK;
}

enum eyrie_result eyrie_get_output(struct eyrie_device *device, uint32_t output, uint32_t image, int8_t *values,
                                   size_t count) {
  if (!is_open(device) || values == NULL) return EYRIE_BAD_ARGUMENT;
  if (device->network == NULL) return EYRIE_NOT_LOADED;
  if (output >= device->network->output_count) return EYRIE_BAD_ARGUMENT;
  const struct eyrie_map *map = &device->network->outputs[output];
  enum eyrie_result result = check_map(device, map, image, count);
  if (result == EYRIE_OK) result = eyrie_poll(device);
  if (result != EYRIE_OK) return result;
  const uint32_t begin = begin_of(device, map, device->placement.outputs, output);
  for (uint32_t y = 0; y < laid_rows(map); y++) {
    for (uint32_t group = 0; group < map->groups; group++) {
      const struct place place = {map, begin + row_of(map, image, y, group), group, y};
      get_row(device, &place, values);
    }
  }
  return EYRIE_OK;
}

/* ---- Running ---- */

enum eyrie_result eyrie_start(struct eyrie_device *device) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  if (device->network == NULL) return EYRIE_NOT_LOADED;
  const uint32_t status = read_register(device, EYRIE_REGISTER_STATUS), base = device->platform.window_base;
  if ((status & EYRIE_STATUS_BUSY) != 0) return EYRIE_BUSY;
  if ((status & EYRIE_STATUS_ERROR) != 0) return EYRIE_ACCELERATOR_ERROR;
  write_register(device, EYRIE_REGISTER_WINDOW_BASE, base);
  write_register(device, EYRIE_REGISTER_WINDOW_LIMIT, base + device->platform.window_bytes);
  write_register(device, EYRIE_REGISTER_PROGRAM_BASE, base + device->placement.offset + device->network->program);
  write_register(device, EYRIE_REGISTER_WATCHDOG_LIMIT, device->watchdog);
  write_register(device, EYRIE_REGISTER_INTERRUPT_ENABLE, device->interrupt ? 1 : 0);
  write_register(device, EYRIE_REGISTER_CONTROL, EYRIE_CONTROL_CLEAR_INTERRUPT);
  write_register(device, EYRIE_REGISTER_CONTROL, EYRIE_CONTROL_START);
  device->started = true;
  return EYRIE_OK;
}

enum eyrie_result eyrie_poll(struct eyrie_device *device) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  if (!device->started) return EYRIE_NOT_STARTED;
  const uint32_t status = read_register(device, EYRIE_REGISTER_STATUS);
  if ((status & EYRIE_STATUS_BUSY) != 0) return EYRIE_BUSY;
  if ((status & EYRIE_STATUS_ERROR) != 0) return EYRIE_ACCELERATOR_ERROR;
  return (status & EYRIE_STATUS_DONE) != 0 ? EYRIE_OK : EYRIE_NOT_STARTED;
}

enum eyrie_result eyrie_wait(struct eyrie_device *device, uint32_t looks) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  if (!device->started) return EYRIE_NOT_STARTED;
  for (uint32_t look = 0; look < looks; look++) {
    if (device->interrupt && device->platform.wait != NULL) device->platform.wait(device->platform.context);
    const enum eyrie_result result = eyrie_poll(device);
    if (result != EYRIE_BUSY) {
      (void)eyrie_acknowledge(device);
      return result;
    }
  }
  return EYRIE_TIMEOUT;
}

enum eyrie_result eyrie_run(struct eyrie_device *device, uint32_t looks) {
  const enum eyrie_result result = eyrie_start(device);
  return result == EYRIE_OK ? eyrie_wait(device, looks) : result;
}

enum eyrie_result eyrie_get_error(struct eyrie_device *device, struct eyrie_error *error) {
  if (!is_open(device) || error == NULL) return EYRIE_BAD_ARGUMENT;
  const uint32_t code = read_register(device, EYRIE_REGISTER_ERROR_CODE);
  if (code >= EYRIE_ERROR_CODES) return EYRIE_NO_ACCELERATOR;
  error->code = (enum eyrie_error_code)code;
  error->address = read_register(device, EYRIE_REGISTER_ERROR_ADDRESS);
  error->place = NOT_IN_LIST;
  if (device->network != NULL && code != EYRIE_ERROR_NONE) {
    const uint32_t list = device->platform.window_base + device->placement.offset + device->network->program;
    if (error->address >= list && error->address - list < device->network->program_bytes)
      error->place = (error->address - list) / EYRIE_WORD_BYTES;
  }
  return EYRIE_OK;
}

/* ---- Counters, watchdog, interrupt ---- */

enum eyrie_result eyrie_get_counter(struct eyrie_device *device, enum eyrie_counter counter, uint64_t *value) {
  if (!is_open(device) || (uint32_t)counter >= EYRIE_COUNTERS || value == NULL) return EYRIE_BAD_ARGUMENT;
  const uint32_t low = EYRIE_REGISTER_COUNTERS + EYRIE_COUNTER_BYTES * (uint32_t)counter;
  *value = read_register(device, low); /* notes the high word of the same cycle */
  *value |= (uint64_t)read_register(device, low + 4) << 32;
  return EYRIE_OK;
}

enum eyrie_result eyrie_get_counters(struct eyrie_device *device, uint64_t *values) {
  if (!is_open(device) || values == NULL) return EYRIE_BAD_ARGUMENT;
  for (uint32_t n = 0; n < EYRIE_COUNTERS; n++) (void)eyrie_get_counter(device, (enum eyrie_counter)n, &values[n]);
  return EYRIE_OK;
}

enum eyrie_result eyrie_set_watchdog(struct eyrie_device *device, uint32_t cycles) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  device->watchdog = cycles;
  return EYRIE_OK;
}

enum eyrie_result eyrie_enable_interrupt(struct eyrie_device *device, bool enable) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  device->interrupt = enable;
  write_register(device, EYRIE_REGISTER_INTERRUPT_ENABLE, enable ? 1 : 0);
  return EYRIE_OK;
}

enum eyrie_result eyrie_acknowledge(struct eyrie_device *device) {
  if (!is_open(device)) return EYRIE_BAD_ARGUMENT;
  write_register(device, EYRIE_REGISTER_CONTROL, EYRIE_CONTROL_CLEAR_INTERRUPT);
  return EYRIE_OK;
}

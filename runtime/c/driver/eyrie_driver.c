/* SPDX-License-Identifier: Apache-2.0 */

#include "eyrie_driver.h"

#define WORD_BYTES 8u
#define WORD_CHANNELS 8u
#define PACKED_CHANNELS 4u      /* of a pixel of a packed map */
#define BUFFER_BYTES 128u       /* that go to or from the memory at a time: whole words */
#define WINDOW_STEP 64u
#define RESET_LOOKS 1000000u    /* of eyrie_open */
#define NOT_IN_LIST UINT32_MAX

/* ---- Registers ---- */

static uint32_t read_register(const struct eyrie_device *device, uint32_t address) {
  return device->platform.read_register(device->platform.context, address);
}

static void write_register(const struct eyrie_device *device, uint32_t address, uint32_t value) {
  device->platform.write_register(device->platform.context, address, value);
}

static bool is_open(const struct eyrie_device *device) {
  return device != NULL && device->platform.read_register != NULL;
}

static bool is_busy(const struct eyrie_device *device) {
  return (read_register(device, EYRIE_REGISTER_STATUS) & EYRIE_STATUS_BUSY) != 0;
}

/* ---- Opening ---- */

static bool is_platform(const struct eyrie_platform *platform) {
  const uint32_t base = platform->window_base, bytes = platform->window_bytes;
  return platform->read_register != NULL && platform->write_register != NULL && platform->write_memory != NULL &&
         platform->read_memory != NULL && base % WINDOW_STEP == 0 && bytes % WINDOW_STEP == 0 && bytes != 0 &&
         bytes <= UINT32_MAX - base;
}

enum eyrie_result eyrie_open(struct eyrie_device *device, const struct eyrie_platform *platform) {
  if (device == NULL) return EYRIE_BAD_ARGUMENT;
  device->platform.read_register = NULL; /* not open */
  if (platform == NULL) return EYRIE_BAD_ARGUMENT;
  if (!is_platform(platform)) return EYRIE_BAD_PLATFORM;
  if (platform->read_register(platform->context, EYRIE_REGISTER_IDENTITY) != EYRIE_IDENTITY) return EYRIE_NO_MACHINE;
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

/* ---- Loading ---- */

static bool is_map(const struct eyrie_network *network, const struct eyrie_map *map) {
  if (map->height == 0 || map->width == 0 || map->channels == 0 || map->groups == 0 || map->pitch == 0) return false;
  if (map->packed ? map->channels > PACKED_CHANNELS || map->groups != 1
                  : (map->channels - 1) / WORD_CHANNELS >= map->groups) return false;
  if ((map->packed ? (map->width - 1) / 2 : map->width - 1) >= map->pitch) return false;
  /* Each factor is held to what is left, so that no product leaves 64 bits. */
  const uint32_t factors[] = {map->pitch, map->groups, map->height, network->images};
  uint64_t words = 1;
  for (size_t n = 0; n < sizeof factors / sizeof *factors; n++) {
    words *= factors[n];
    if (words > network->bytes / WORD_BYTES) return false;
  }
  return map->address % WORD_BYTES == 0 && map->address <= network->bytes - words * WORD_BYTES;
}

static bool is_network(const struct eyrie_network *network) {
  if (network->images == 0 || network->input_count == 0 || network->output_count == 0 || network->inputs == NULL ||
      network->outputs == NULL || network->bytes % WORD_BYTES != 0 || network->program % WORD_BYTES != 0 ||
      network->program_bytes % WORD_BYTES != 0 || network->program > network->bytes ||
      network->program_bytes > network->bytes - network->program) return false;
  for (uint32_t n = 0; n < network->input_count; n++)
    if (!is_map(network, &network->inputs[n])) return false;
  for (uint32_t n = 0; n < network->output_count; n++)
    if (!is_map(network, &network->outputs[n])) return false;
  return true;
}

static uint32_t crc_of(const uint8_t *bytes, uint32_t count) {
  uint32_t crc = UINT32_MAX;
  for (uint32_t n = 0; n < count; n++) {
    crc ^= bytes[n];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

static uint64_t word_at(const uint8_t *bytes) {
  uint64_t word = 0;
  for (uint32_t n = 0; n < WORD_BYTES; n++) word |= (uint64_t)bytes[n] << 8 * n;
  return word;
}

static uint32_t field(uint64_t word, uint32_t shift, uint32_t bits) {
  return (uint32_t)(word >> shift & (UINT64_MAX >> (64u - bits)));
}

/* Words of the command that begins with `word`; 0: there is no such command. */
static uint32_t words_of(uint64_t word) {
  switch (field(word, EYRIE_OPCODE_SHIFT, EYRIE_OPCODE_BITS)) {
    case EYRIE_OPCODE_END:
    case EYRIE_OPCODE_PASS: return 1;
    case EYRIE_OPCODE_CONFIG: return 1 + field(word, EYRIE_CONFIG_COUNT_SHIFT, EYRIE_CONFIG_COUNT_BITS);
    case EYRIE_OPCODE_LOAD:
    case EYRIE_OPCODE_STORE: return field(word, EYRIE_TRANSFER_BLOCK_SHIFT, EYRIE_TRANSFER_BLOCK_BITS) ? 4 : 2;
    default: return 0;
  }
}

static bool is_transfer(uint64_t word) {
  const uint32_t opcode = field(word, EYRIE_OPCODE_SHIFT, EYRIE_OPCODE_BITS);
  return opcode == EYRIE_OPCODE_LOAD || opcode == EYRIE_OPCODE_STORE;
}

/* Goes through the command list and, if `device` is not NULL, writes the transfers' addresses for its window into the
 * memory. Returns whether the list is one. */
static bool place_list(const struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image) {
  const uint32_t end = network->program + network->program_bytes;
  uint32_t at = network->program;
  while (at < end) {
    const uint64_t word = word_at(image + at);
    const uint32_t words = words_of(word);
    if (words == 0 || words > (end - at) / WORD_BYTES) return false;
    if (is_transfer(word)) {
      uint64_t second = word_at(image + at + WORD_BYTES);
      if (field(second, EYRIE_TRANSFER_ADDRESS_SHIFT, EYRIE_TRANSFER_ADDRESS_BITS) >= network->bytes) return false;
      if (device != NULL) {
        uint8_t bytes[WORD_BYTES];
        second += (uint64_t)device->platform.window_base << EYRIE_TRANSFER_ADDRESS_SHIFT;
        for (uint32_t n = 0; n < WORD_BYTES; n++) bytes[n] = (uint8_t)(second >> 8 * n);
        device->platform.write_memory(device->platform.context, at + WORD_BYTES, bytes, WORD_BYTES);
      }
    }
    if (field(word, EYRIE_OPCODE_SHIFT, EYRIE_OPCODE_BITS) == EYRIE_OPCODE_END) return true;
    at += words * WORD_BYTES;
  }
  return false; /* without an end */
}

enum eyrie_result eyrie_load(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             size_t bytes) {
  if (!is_open(device) || network == NULL || image == NULL) return EYRIE_BAD_ARGUMENT;
  if (is_busy(device)) return EYRIE_BUSY;
  if (!is_network(network)) return EYRIE_BAD_NETWORK;
  for (uint32_t n = 0; n < EYRIE_SIZES; n++)
    if (network->sizes[n] != device->platform.sizes[n]) return EYRIE_OTHER_MACHINE;
  if (network->bytes > device->platform.window_bytes) return EYRIE_NO_ROOM;
  if (bytes != network->bytes || crc_of(image, network->bytes) != network->crc) return EYRIE_OTHER_IMAGE;
  if (!place_list(NULL, network, image)) return EYRIE_BAD_NETWORK;
  device->platform.write_memory(device->platform.context, 0, image, network->bytes);
  (void)place_list(device, network, image);
  device->network = network;
  device->started = false;
  return EYRIE_OK;
}

/* ---- Maps ---- */

struct place {
  const struct eyrie_map *map;
  uint32_t row; /* offset of the row's first word in the window, in bytes */
  uint32_t group;
  uint32_t y;
};

static uint32_t least(uint32_t one, uint32_t other) { return one < other ? one : other; }

/* Where the values of byte n of a row of a group come from, or go to: C order; false: it holds none. */
static bool value_of(const struct place *place, uint32_t n, size_t *index) {
  const struct eyrie_map *map = place->map;
  const uint32_t pixel_bytes = map->packed ? PACKED_CHANNELS : WORD_CHANNELS;
  const uint32_t x = n / pixel_bytes, channel = place->group * WORD_CHANNELS + n % pixel_bytes;
  *index = ((size_t)place->y * map->width + x) * map->channels + channel;
  return x < map->width && channel < map->channels;
}

static void put_row(const struct eyrie_device *device, const struct place *place, const int8_t *values) {
  const uint32_t row_bytes = place->map->pitch * WORD_BYTES;
  for (uint32_t begin = 0; begin < row_bytes; begin += BUFFER_BYTES) {
    uint8_t buffer[BUFFER_BYTES];
    const uint32_t count = least(BUFFER_BYTES, row_bytes - begin);
    for (uint32_t n = 0; n < count; n++) {
      size_t index;
      buffer[n] = value_of(place, begin + n, &index) ? (uint8_t)values[index] : 0;
    }
    device->platform.write_memory(device->platform.context, place->row + begin, buffer, count);
  }
}

static void get_row(const struct eyrie_device *device, const struct place *place, int8_t *values) {
  const uint32_t row_bytes = place->map->pitch * WORD_BYTES;
  for (uint32_t begin = 0; begin < row_bytes; begin += BUFFER_BYTES) {
    uint8_t buffer[BUFFER_BYTES];
    const uint32_t count = least(BUFFER_BYTES, row_bytes - begin);
    device->platform.read_memory(device->platform.context, place->row + begin, buffer, count);
    for (uint32_t n = 0; n < count; n++) {
      size_t index;
      if (value_of(place, begin + n, &index)) values[index] = (int8_t)(buffer[n] < 128 ? buffer[n] : buffer[n] - 256);
    }
  }
}

/* The offset of a row of a group of an image. */
static uint32_t row_of(const struct eyrie_map *map, uint32_t image, uint32_t y, uint32_t group) {
  return map->address + ((image * map->height + y) * map->groups + group) * map->pitch * WORD_BYTES;
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
  for (uint32_t y = 0; y < map->height; y++) {
    for (uint32_t group = 0; group < map->groups; group++) {
      const struct place place = {map, row_of(map, image, y, group), group, y};
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
  for (uint32_t y = 0; y < map->height; y++) {
    for (uint32_t group = 0; group < map->groups; group++) {
      const struct place place = {map, row_of(map, image, y, group), group, y};
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
  if ((status & EYRIE_STATUS_ERROR) != 0) return EYRIE_MACHINE_ERROR;
  write_register(device, EYRIE_REGISTER_WINDOW_BASE, base);
  write_register(device, EYRIE_REGISTER_WINDOW_LIMIT, base + device->platform.window_bytes);
  write_register(device, EYRIE_REGISTER_PROGRAM_BASE, base + device->network->program);
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
  if ((status & EYRIE_STATUS_ERROR) != 0) return EYRIE_MACHINE_ERROR;
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
  if (code >= EYRIE_ERROR_CODES) return EYRIE_NO_MACHINE;
  error->code = (enum eyrie_error_code)code;
  error->address = read_register(device, EYRIE_REGISTER_ERROR_ADDRESS);
  error->place = NOT_IN_LIST;
  if (device->network != NULL && code != EYRIE_ERROR_NONE) {
    const uint32_t list = device->platform.window_base + device->network->program;
    if (error->address >= list && error->address - list < device->network->program_bytes)
      error->place = (error->address - list) / WORD_BYTES;
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

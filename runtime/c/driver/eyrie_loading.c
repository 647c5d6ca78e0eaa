/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks into the window: checks, and the addresses in command lists.
 */

#include "eyrie_device.h"

#define WORD_CHANNELS 8u
#define PACKED_CHANNELS 4u      /* of a pixel of a packed map */
#define MOST_PIXELS 0xfffffu    /* of anything of patches: a product of three has 60 bits */

/* Whether a map lies as it is, or as patches of sizes that there can be. */
static bool are_patches(const struct eyrie_map *map) {
  const struct eyrie_patches *patches = &map->patches;
  const uint32_t sizes[] = {patches->rows, patches->cols, patches->height, patches->width, patches->row_step,
                            patches->column_step, map->channels};
  if (patches->rows == 0) return true;
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
    if (sizes[n] == 0 || sizes[n] > MOST_PIXELS) return false;
  return patches->top <= MOST_PIXELS && patches->left <= MOST_PIXELS;
}

static bool is_map(const struct eyrie_network *network, const struct eyrie_map *map) {
  const struct eyrie_patches *patches = &map->patches;
  if (map->height == 0 || map->width == 0 || map->channels == 0 || map->groups == 0 || map->pitch == 0 ||
      !are_patches(map)) return false;
  const bool as_it_is = patches->rows == 0;
  const uint32_t width = as_it_is ? map->width : patches->cols;
  const uint64_t channels = as_it_is ? map->channels : (uint64_t)patches->height * patches->width * map->channels;
  if (map->packed ? channels > PACKED_CHANNELS || map->groups != 1
                  : (channels - 1) / WORD_CHANNELS >= map->groups) return false;
  if ((map->packed ? (width - 1) / 2 : width - 1) >= map->pitch) return false;
  /* Each factor is held to what is left, so that no product leaves 64 bits. */
  const uint32_t factors[] = {map->pitch, map->groups, laid_rows(map), network->images};
  uint64_t words = 1;
  for (size_t n = 0; n < sizeof factors / sizeof *factors; n++) {
    words *= factors[n];
    if (words > network->bytes / EYRIE_WORD_BYTES) return false;
  }
  return map->address % EYRIE_WORD_BYTES == 0 && map->address <= network->bytes - words * EYRIE_WORD_BYTES;
}

static bool is_network(const struct eyrie_network *network) {
  if (network->images == 0 || network->input_count == 0 || network->output_count == 0 || network->inputs == NULL ||
      network->outputs == NULL || network->bytes % EYRIE_WORD_BYTES != 0 || network->program % EYRIE_WORD_BYTES != 0 ||
      network->program_bytes % EYRIE_WORD_BYTES != 0 || network->program > network->bytes ||
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
  for (uint32_t n = 0; n < EYRIE_WORD_BYTES; n++) word |= (uint64_t)bytes[n] << 8 * n;
  return word;
}

static uint32_t field(uint64_t word, uint32_t shift, uint32_t bits) {
  return (uint32_t)(word >> shift & (UINT64_MAX >> (64u - bits)));
}

/* Words of the command at the start of so many bytes; 0: there is no such command. */
static uint32_t words_of(const uint8_t *list, uint32_t bytes) {
  const uint64_t word = word_at(list);
  switch (field(word, EYRIE_OPCODE_SHIFT, EYRIE_OPCODE_BITS)) {
    case EYRIE_OPCODE_END:
    case EYRIE_OPCODE_PASS: return 1;
    case EYRIE_OPCODE_CONFIG: { /* a word, and one for each bit of the field `more` */
      uint32_t words = 2;
      for (uint64_t more = word >> EYRIE_CONFIG_MORE_SHIFT; more != 0; more &= more - 1) words++;
      return words;
    }
    case EYRIE_OPCODE_LOAD:
    case EYRIE_OPCODE_STORE: return field(word, EYRIE_TRANSFER_BLOCK_SHIFT, EYRIE_TRANSFER_BLOCK_BITS) ? 4 : 2;
    case EYRIE_OPCODE_CHUNKS: return 3;
    case EYRIE_OPCODE_CODED: { /* a word with lengths for each four LOADs */
      if (bytes < 3 * EYRIE_WORD_BYTES) return 0;
      return 3 + (field(word_at(list + 2 * EYRIE_WORD_BYTES), EYRIE_CHUNKS_COUNT_SHIFT, EYRIE_CHUNKS_COUNT_BITS) + 3) / 4;
    }
    default: return 0;
  }
}

static bool is_transfer(uint64_t word) {
  const uint32_t opcode = field(word, EYRIE_OPCODE_SHIFT, EYRIE_OPCODE_BITS);
  return opcode == EYRIE_OPCODE_LOAD || opcode == EYRIE_OPCODE_STORE || opcode == EYRIE_OPCODE_CHUNKS ||
         opcode == EYRIE_OPCODE_CODED;
}

/* Where an address of the network is that belongs to one of these maps; false: it does not, or they are not
 * elsewhere. */
static bool find_move(const struct eyrie_network *network, const struct eyrie_map *maps, uint32_t count,
                      const uint32_t *elsewhere, uint32_t address, uint32_t *to) {
  for (uint32_t n = 0; n < count && elsewhere != NULL; n++) {
    if (address >= maps[n].address && address - maps[n].address < map_bytes(network, &maps[n])) {
      *to = elsewhere[n] + (address - maps[n].address);
      return true;
    }
  }
  return false;
}

/* The offset in the window of an address of the network. */
static uint32_t placed(const struct eyrie_network *network, const struct eyrie_placement *placement,
                       uint32_t address) {
  uint32_t to = 0;
  if (find_move(network, network->inputs, network->input_count, placement->inputs, address, &to)) return to;
  if (find_move(network, network->outputs, network->output_count, placement->outputs, address, &to)) return to;
  return placement->offset + address;
}

/* Goes through the command list and, if `device` is not NULL, writes the transfers' addresses for its window into the
 * memory. Returns whether the list is one. */
static bool place_list(const struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                       const struct eyrie_placement *placement) {
  const uint32_t end = network->program + network->program_bytes;
  uint32_t at = network->program;
  while (at < end) {
    const uint64_t word = word_at(image + at);
    const uint32_t words = words_of(image + at, end - at);
    if (words == 0 || words > (end - at) / EYRIE_WORD_BYTES) return false;
    if (is_transfer(word)) {
      uint64_t second = word_at(image + at + EYRIE_WORD_BYTES);
      const uint32_t address = field(second, EYRIE_TRANSFER_ADDRESS_SHIFT, EYRIE_TRANSFER_ADDRESS_BITS);
      if (address >= network->bytes) return false;
      if (device != NULL) {
        uint8_t bytes[EYRIE_WORD_BYTES];
        const uint32_t moved = device->platform.window_base + placed(network, placement, address);
        second += ((uint64_t)moved - address) << EYRIE_TRANSFER_ADDRESS_SHIFT;
        for (uint32_t n = 0; n < EYRIE_WORD_BYTES; n++) bytes[n] = (uint8_t)(second >> 8 * n);
        device->platform.write_memory(device->platform.context, placement->offset + at + EYRIE_WORD_BYTES, bytes,
                                      EYRIE_WORD_BYTES);
      }
    }
    if (field(word, EYRIE_OPCODE_SHIFT, EYRIE_OPCODE_BITS) == EYRIE_OPCODE_END) return true;
    at += words * EYRIE_WORD_BYTES;
  }
  return false; /* without an end */
}

/* Whether maps that lie elsewhere are in the window. */
static bool are_inside(const struct eyrie_device *device, const struct eyrie_network *network,
                       const struct eyrie_map *maps, uint32_t count, const uint32_t *elsewhere) {
  const uint32_t window = device->platform.window_bytes;
  for (uint32_t n = 0; n < count && elsewhere != NULL; n++)
    if (elsewhere[n] % EYRIE_WORD_BYTES != 0 || elsewhere[n] > window ||
        map_bytes(network, &maps[n]) > window - elsewhere[n]) return false;
  return true;
}

/* Whether a network may lie there, on this configuration. */
static enum eyrie_result check_placement(const struct eyrie_device *device, const struct eyrie_network *network,
                                         const struct eyrie_placement *placement) {
  const uint32_t window = device->platform.window_bytes;
  if (is_busy(device)) return EYRIE_BUSY;
  if (!is_network(network)) return EYRIE_BAD_NETWORK;
  for (uint32_t n = 0; n < EYRIE_SIZES; n++)
    if (network->sizes[n] != device->platform.sizes[n]) return EYRIE_OTHER_CONFIGURATION;
  if (placement->offset % EYRIE_WINDOW_STEP != 0) return EYRIE_BAD_ARGUMENT;
  if (placement->offset > window || network->bytes > window - placement->offset ||
      !are_inside(device, network, network->inputs, network->input_count, placement->inputs) ||
      !are_inside(device, network, network->outputs, network->output_count, placement->outputs)) return EYRIE_NO_ROOM;
  return EYRIE_OK;
}

enum eyrie_result eyrie_bind(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             const struct eyrie_placement *placement) {
  if (!is_open(device) || network == NULL || image == NULL || placement == NULL) return EYRIE_BAD_ARGUMENT;
  const enum eyrie_result result = check_placement(device, network, placement);
  if (result != EYRIE_OK) return result;
  if (!place_list(NULL, network, image, placement)) return EYRIE_BAD_NETWORK;
  (void)place_list(device, network, image, placement);
  device->network = network;
  device->placement = *placement;
  device->started = false;
  return EYRIE_OK;
}

enum eyrie_result eyrie_place(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                              size_t bytes, const struct eyrie_placement *placement) {
  if (!is_open(device) || network == NULL || image == NULL || placement == NULL) return EYRIE_BAD_ARGUMENT;
  const enum eyrie_result result = check_placement(device, network, placement);
  if (result != EYRIE_OK) return result;
  if (bytes != network->bytes || crc_of(image, network->bytes) != network->crc) return EYRIE_OTHER_IMAGE;
  if (!place_list(NULL, network, image, placement)) return EYRIE_BAD_NETWORK;
  device->platform.write_memory(device->platform.context, placement->offset, image, network->bytes);
  return eyrie_bind(device, network, image, placement);
}

enum eyrie_result eyrie_load(struct eyrie_device *device, const struct eyrie_network *network, const uint8_t *image,
                             size_t bytes) {
  const struct eyrie_placement first = {0, NULL, NULL};
  return eyrie_place(device, network, image, bytes, &first);
}

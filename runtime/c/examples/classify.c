/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies pictures.
 *
 *   classify IMAGE PICTURES
 *
 * IMAGE is the network's image.bin, PICTURES a file of int8 [N][height][width][channels], as the network takes them.
 * Prints a line for each: its number, the class with the largest output (of equal ones the first), and all outputs.
 * Compiled with network.h of a network of one input and one output.
 */

#include <stdio.h>
#include <stdlib.h>

#include "eyrie_driver.h"
#include "network.h"
#include "platform.h"

#define LOOKS 1000000000u /* at an accelerator that has not ended: its watchdog comes first */

struct picture_file {
  int8_t *values;
  size_t pictures;
};

static size_t values_of(const struct eyrie_map *map) { return (size_t)map->height * map->width * map->channels; }

/* A file's bytes, NULL if it cannot be read. */
static uint8_t *read_file(const char *path, size_t *bytes) {
  uint8_t *contents = NULL;
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0) contents = (uint8_t *)malloc((size_t)size);
    *bytes = (size_t)(size > 0 ? size : 0);
  }
  if (contents != NULL && fread(contents, 1, *bytes, file) != *bytes) {
    free(contents);
    contents = NULL;
  }
  (void)fclose(file);
  return contents;
}

static void print_class(size_t number, const int8_t *outputs, size_t count) {
  size_t best = 0;
  for (size_t n = 1; n < count; n++)
    if (outputs[n] > outputs[best]) best = n;
  printf("%lu: class %lu, outputs", (unsigned long)number, (unsigned long)best);
  for (size_t n = 0; n < count; n++) printf(" %d", outputs[n]);
  printf("\n");
}

/* Runs the network on all pictures, as many at a time as it takes; of the last ones that fill a run nothing is said. */
static enum eyrie_result classify(struct eyrie_device *device, const struct picture_file *file, int8_t *outputs) {
  const size_t taken = values_of(&network.inputs[0]), made = values_of(&network.outputs[0]);
  for (size_t first = 0; first < file->pictures; first += network.images) {
    enum eyrie_result result = EYRIE_OK;
    for (uint32_t n = 0; n < network.images && result == EYRIE_OK; n++) {
      const size_t picture = first + n < file->pictures ? first + n : file->pictures - 1;
      result = eyrie_put_input(device, 0, n, file->values + picture * taken, taken);
    }
    if (result == EYRIE_OK) result = eyrie_run(device, LOOKS);
    for (uint32_t n = 0; n < network.images && first + n < file->pictures && result == EYRIE_OK; n++) {
      result = eyrie_get_output(device, 0, n, outputs, made);
      if (result == EYRIE_OK) print_class(first + n, outputs, made);
    }
    if (result != EYRIE_OK) return result;
  }
  return EYRIE_OK;
}

static int fail(struct eyrie_device *device, enum eyrie_result result) {
  struct eyrie_error error;
  fprintf(stderr, "classify: %s", eyrie_result_text(result));
  if (result == EYRIE_ACCELERATOR_ERROR && eyrie_get_error(device, &error) == EYRIE_OK)
    fprintf(stderr, ": %s, command at word %lu", eyrie_error_text(error.code), (unsigned long)error.place);
  fprintf(stderr, "\n");
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3 || network.input_count != 1 || network.output_count != 1) {
    fprintf(stderr, "classify IMAGE PICTURES, for a network of one input and one output\n");
    return 2;
  }
  size_t image_bytes = 0, picture_bytes = 0;
  uint8_t *image = read_file(argv[1], &image_bytes), *pictures = read_file(argv[2], &picture_bytes);
  int8_t *outputs = (int8_t *)malloc(values_of(&network.outputs[0]));
  const size_t taken = values_of(&network.inputs[0]);
  int status = 1;
  if (image == NULL || pictures == NULL || outputs == NULL || picture_bytes % taken != 0) {
    fprintf(stderr, "classify: a file cannot be read, or %s is not whole pictures\n", argv[2]);
  } else {
    const struct picture_file file = {(int8_t *)pictures, picture_bytes / taken};
    struct eyrie_platform platform;
    struct eyrie_device device;
    platform_open(&platform);
    enum eyrie_result result = eyrie_open(&device, &platform);
    if (result == EYRIE_OK) result = eyrie_load(&device, &network, image, image_bytes);
    if (result == EYRIE_OK) result = classify(&device, &file, outputs);
    status = result == EYRIE_OK ? 0 : fail(&device, result);
  }
  free(image);
  free(pictures);
  free(outputs);
  return status;
}

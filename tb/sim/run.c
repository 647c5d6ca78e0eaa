/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a network through the driver, on the platform that it is linked with.
 *
 *   run IMAGE INPUTS OUTPUTS RUNS
 *
 * INPUTS has the inputs of each run: image by image, input by input, int8 in C order; OUTPUTS gets the outputs
 * as well. Prints the cycles of each run, a line each.
 */

#include <stdio.h>
#include <stdlib.h>

#include "eyrie_driver.h"
#include "network.h"
#include "platform.h"

#define LOOKS 100000000u

static size_t values_of(const struct eyrie_map *map) { return (size_t)map->height * map->width * map->channels; }

static void *memory_of(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) exit(2);
  return memory;
}

static void check(enum eyrie_result result) {
  if (result == EYRIE_OK) return;
  fprintf(stderr, "run: %s\n", eyrie_result_text(result));
  exit(1);
}

/* Reads or writes so many values, of an open file. */
static void transfer(FILE *file, int8_t *values, size_t count, bool reads) {
  const size_t done = reads ? fread(values, 1, count, file) : fwrite(values, 1, count, file);
  if (done == count) return;
  fprintf(stderr, "run: a file is too short, or cannot be written\n");
  exit(2);
}

static void put_inputs(struct eyrie_device *device, FILE *file) {
  for (uint32_t image = 0; image < network.images; image++) {
    for (uint32_t n = 0; n < network.input_count; n++) {
      const size_t count = values_of(&network.inputs[n]);
      int8_t *values = (int8_t *)memory_of(count);
      transfer(file, values, count, true);
      check(eyrie_put_input(device, n, image, values, count));
      free(values);
    }
  }
}

static void get_outputs(struct eyrie_device *device, FILE *file) {
  for (uint32_t image = 0; image < network.images; image++) {
    for (uint32_t n = 0; n < network.output_count; n++) {
      const size_t count = values_of(&network.outputs[n]);
      int8_t *values = (int8_t *)memory_of(count);
      check(eyrie_get_output(device, n, image, values, count));
      transfer(file, values, count, false);
      free(values);
    }
  }
}

int main(int argc, char **argv) {
  struct eyrie_platform platform;
  struct eyrie_device device;
  FILE *image_file = argc == 5 ? fopen(argv[1], "rb") : NULL, *inputs = argc == 5 ? fopen(argv[2], "rb") : NULL;
  FILE *outputs = argc == 5 ? fopen(argv[3], "wb") : NULL;
  if (image_file == NULL || inputs == NULL || outputs == NULL) {
    fprintf(stderr, "run IMAGE INPUTS OUTPUTS RUNS\n");
    return 2;
  }
  uint8_t *image = (uint8_t *)memory_of(network.bytes);
  transfer(image_file, (int8_t *)image, network.bytes, true);
  (void)fclose(image_file);
  platform_open(&platform);
  check(eyrie_open(&device, &platform));
  check(eyrie_load(&device, &network, image, network.bytes));
  free(image);
  for (long run = strtol(argv[4], NULL, 10); run > 0; run--) {
    uint64_t cycles = 0;
    put_inputs(&device, inputs);
    check(eyrie_run(&device, LOOKS));
    get_outputs(&device, outputs);
    check(eyrie_get_counter(&device, EYRIE_COUNTER_CYCLES, &cycles));
    printf("%lu\n", (unsigned long)cycles);
  }
  (void)fclose(inputs);
  return fclose(outputs) == 0 ? 0 : 2;
}

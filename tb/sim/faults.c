/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs programs that have to fail through the driver, and after each of them the network.
 *
 *   faults IMAGE INPUT OUTPUT FAULT ...
 *
 * Each FAULT is written over the window that the network was loaded into. A line for each says how it ended: error
 * code, address of the command, place in the list, and the code's text; OUTPUT gets the network's output after each. In
 * the last run the memory stops answering: its line says what resets did, before and after the memory is there again.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "soc.h"
#include "eyrie_driver.h"
#include "network.h"
#include "platform.h"

#define LOOKS 1000000u
#define FEW_LOOKS 100u
#define WATCHDOG 20000u

static uint8_t *image;
static int8_t *input, *output;
static struct eyrie_platform platform;
static struct eyrie_device device;

static void expect(enum eyrie_result expected, enum eyrie_result result, const char *what) {
  if (result == expected) return;
  fprintf(stderr, "faults: %s: %s, expected: %s\n", what, eyrie_result_text(result), eyrie_result_text(expected));
  exit(1);
}

static size_t values_of(const struct eyrie_map *map) { return (size_t)map->height * map->width * map->channels; }

/* A file's bytes, at most `count`; `bytes` gets how many. */
static uint8_t *read_file(const char *path, size_t count, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  uint8_t *contents = (uint8_t *)malloc(count);
  if (file == NULL || contents == NULL) exit(2);
  *bytes = fread(contents, 1, count, file);
  (void)fclose(file);
  return contents;
}

static void load(void) {
  expect(EYRIE_OK, eyrie_load(&device, &network, image, network.bytes), "load");
  expect(EYRIE_OK, eyrie_put_input(&device, 0, 0, input, values_of(&network.inputs[0])), "put");
}

/* Runs the network, loaded anew, and writes its output. */
static void run_well(FILE *file) {
  struct eyrie_error error;
  const size_t count = values_of(&network.outputs[0]);
  load();
  expect(EYRIE_NOT_STARTED, eyrie_get_output(&device, 0, 0, output, count), "get before the run");
  expect(EYRIE_OK, eyrie_run(&device, LOOKS), "run");
  expect(EYRIE_OK, eyrie_get_error(&device, &error), "error");
  if (error.code != EYRIE_ERROR_NONE || error.place != UINT32_MAX) exit(3);
  expect(EYRIE_OK, eyrie_get_output(&device, 0, 0, output, count), "get");
  if (fwrite(output, 1, count, file) != count) exit(2);
}

static void run_fault(const char *path) {
  struct eyrie_error error;
  size_t bytes;
  uint8_t *contents = read_file(path, platform.window_bytes, &bytes);
  load();
  platform.write_memory(platform.context, 0, contents, (uint32_t)bytes);
  free(contents);
  expect(EYRIE_ACCELERATOR_ERROR, eyrie_run(&device, LOOKS), path);
  expect(EYRIE_ACCELERATOR_ERROR, eyrie_start(&device), "start after an error");
  expect(EYRIE_ACCELERATOR_ERROR, eyrie_get_output(&device, 0, 0, output, values_of(&network.outputs[0])), "get");
  expect(EYRIE_OK, eyrie_get_error(&device, &error), "error");
  printf("%d %" PRIu32 " %" PRIu32 " %s\n", (int)error.code, error.address, error.place, eyrie_error_text(error.code));
  expect(EYRIE_OK, eyrie_reset(&device, LOOKS), "reset");
  expect(EYRIE_NOT_STARTED, eyrie_poll(&device), "poll after a reset");
}

/* A memory that dies in a run: the watchdog ends it, the reset waits for the memory. */
static void run_without_memory(void) {
  struct soc *soc = ((const struct soc_view *)platform.context)->soc;
  load();
  expect(EYRIE_OK, eyrie_start(&device), "start");
  expect(EYRIE_BUSY, eyrie_poll(&device), "poll");
  expect(EYRIE_BUSY, eyrie_start(&device), "start again");
  expect(EYRIE_BUSY, eyrie_put_input(&device, 0, 0, input, values_of(&network.inputs[0])), "put");
  expect(EYRIE_BUSY, eyrie_load(&device, &network, image, network.bytes), "load");
  (void)soc_wait(soc, 200);
  soc_bus(soc, false);
  expect(EYRIE_ACCELERATOR_ERROR, eyrie_wait(&device, LOOKS), "wait");
  const enum eyrie_result before = eyrie_reset(&device, FEW_LOOKS);
  soc_bus(soc, true);
  printf("%s, %s\n", eyrie_result_text(before), eyrie_result_text(eyrie_reset(&device, LOOKS)));
}

int main(int argc, char **argv) {
  size_t bytes;
  FILE *file = argc >= 4 ? fopen(argv[3], "wb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "faults IMAGE INPUT OUTPUT FAULT ...\n");
    return 2;
  }
  image = read_file(argv[1], network.bytes, &bytes);
  input = (int8_t *)read_file(argv[2], values_of(&network.inputs[0]), &bytes);
  output = (int8_t *)malloc(values_of(&network.outputs[0]));
  if (output == NULL) return 2;
  platform_open(&platform);
  expect(EYRIE_OK, eyrie_open(&device, &platform), "open");
  expect(EYRIE_OK, eyrie_set_watchdog(&device, WATCHDOG), "watchdog");
  for (int n = 4; n < argc; n++) {
    run_fault(argv[n]);
    run_well(file);
  }
  run_without_memory();
  run_well(file);
  return fclose(file) == 0 ? 0 : 2;
}

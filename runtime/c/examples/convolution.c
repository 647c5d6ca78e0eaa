/* SPDX-License-Identifier: Apache-2.0
 *
 * A convolution on the accelerator, operator by operator: figure 3.5 of DLPlib, with its parameters.
 *
 *   convolution IMAGE WEIGHTS OUTPUT
 *
 * IMAGE is a file of int8 [14][14][16], WEIGHTS of int8 [24][3][3][16]; OUTPUT gets int8 [14][14][24]. Prints the
 * accelerator's cycles.
 */

#include <stdio.h>
#include <stdlib.h>

#include "eyrie.h"
#include "platform.h"

#define IMAGE (14 * 14 * 16)
#define WEIGHTS (24 * 3 * 3 * 16)
#define OUTPUT (14 * 14 * 24)

static struct eyrie_handle handle;

static void check(enum eyrie_result result) {
  if (result == EYRIE_OK) return;
  fprintf(stderr, "convolution: %s: %s\n", eyrie_result_text(result), eyrie_get_message(&handle));
  exit(1);
}

/* Reads or writes a file of so many values. */
static void transfer(const char *path, int8_t *values, size_t count, bool reads) {
  FILE *file = fopen(path, reads ? "rb" : "wb");
  const size_t done = file == NULL ? 0 : reads ? fread(values, 1, count, file) : fwrite(values, 1, count, file);
  if (file == NULL || fclose(file) != 0 || done != count) {
    fprintf(stderr, "convolution: %s is too short, or cannot be read or written\n", path);
    exit(2);
  }
}

int main(int argc, char **argv) {
  static const float filter_scale = 0.005f;
  static const struct eyrie_tensor_setting input_setting = {1, 14, 14, 16, 0.02f, 3};
  static const struct eyrie_filter_setting filter_setting = {24, 3, 3, 16, &filter_scale, 1};
  static const struct eyrie_tensor_setting output_setting = {1, 14, 14, 24, 0.1f, -7};
  static const struct eyrie_convolution_setting setting = {{1, 1}, {1, 1}, {1, 1, 1, 1}, 1, EYRIE_NONE};
  static int8_t image[IMAGE], weights[WEIGHTS], values[OUTPUT];
  struct eyrie_platform platform;
  struct eyrie_tensor_descriptor input_descriptor, output_descriptor;
  struct eyrie_filter_descriptor filter_descriptor;
  struct eyrie_convolution_descriptor convolution;
  struct eyrie_tensor input = {&input_descriptor, 0}, output = {&output_descriptor, 0};
  struct eyrie_filter filter = {&filter_descriptor, 0};
  uint32_t bytes = 0;
  uint64_t cycles = 0;
  if (argc != 4) {
    fprintf(stderr, "convolution IMAGE WEIGHTS OUTPUT\n");
    return 2;
  }
  transfer(argv[1], image, IMAGE, true);
  transfer(argv[2], weights, WEIGHTS, true);

  /* device handle */
  platform_open(&platform);
  check(eyrie_create_handle(&handle, &platform, eyrie_linked_programs()));
  /* create data */
  check(eyrie_create_tensor_descriptor(&input_descriptor));
  check(eyrie_set_tensor_descriptor(&input_descriptor, &input_setting));
  check(eyrie_create_filter_descriptor(&filter_descriptor));
  check(eyrie_set_filter_descriptor(&filter_descriptor, &filter_setting));
  check(eyrie_create_tensor_descriptor(&output_descriptor));
  check(eyrie_set_tensor_descriptor(&output_descriptor, &output_setting));
  check(eyrie_get_tensor_bytes(&input_descriptor, &bytes));
  check(eyrie_malloc(&handle, bytes, &input.place));
  check(eyrie_copy_to_tensor(&handle, &input, image, IMAGE));
  check(eyrie_get_filter_bytes(&filter_descriptor, &bytes));
  check(eyrie_malloc(&handle, bytes, &filter.place));
  check(eyrie_copy_to_filter(&handle, &filter, weights, WEIGHTS));
  check(eyrie_get_tensor_bytes(&output_descriptor, &bytes));
  check(eyrie_malloc(&handle, bytes, &output.place));
  /* create descriptor for convolution */
  check(eyrie_create_convolution_descriptor(&convolution));
  check(eyrie_set_convolution_descriptor(&convolution, &setting));
  /* execute convolution forward */
  check(eyrie_convolution(&handle.stream, &convolution, &input, &filter, EYRIE_NO_BIAS, &output));
  check(eyrie_copy_from_tensor(&handle, &output, values, OUTPUT));
  check(eyrie_get_cycles(&handle.stream, &cycles));
  /* free */
  check(eyrie_free(&handle, input.place));
  check(eyrie_free(&handle, output.place));
  check(eyrie_free(&handle, filter.place));
  check(eyrie_destroy_tensor_descriptor(&input_descriptor));
  check(eyrie_destroy_filter_descriptor(&filter_descriptor));
  check(eyrie_destroy_tensor_descriptor(&output_descriptor));
  check(eyrie_destroy_convolution_descriptor(&convolution));
  check(eyrie_destroy_handle(&handle));

  transfer(argv[3], values, OUTPUT, false);
  printf("%lu cycles\n", (unsigned long)cycles);
  return 0;
}

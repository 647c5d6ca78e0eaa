/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of operators that are compiled when they are asked for, on the host of a simulated SoC (POSIX). The environment:
 *   SOC_COMPILE    a command of the shell to which the name of a request's file is added (eyrie operators --compile)
 *   SOC_REQUESTS   the folder of these files, which stay, for eyrie operators --c
 * A request's file is its key, the end of the line, and the constants: scales, filters, bias.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eyrie_library.h"

#define MOST_MAPS (EYRIE_MOST_INPUTS + EYRIE_MOST_OUTPUTS)
#define MOST_PATH 1024u
#define REJECTED "eyrie operators: " /* begins what the command says of an operator that does not compile */

struct found {
  struct found *next;
  struct eyrie_program program;
  struct eyrie_network network;
  struct eyrie_map maps[MOST_MAPS];
  char names[MOST_MAPS][16];
};

static enum eyrie_result say(const struct eyrie_request *request, const char *text) {
  snprintf(request->message, EYRIE_MESSAGE_BYTES, "%s", text);
  request->message[strcspn(request->message, "\n")] = '\0';
  return EYRIE_NOT_COMPILED;
}

/* ---- Requests ---- */

static bool write_memory(FILE *file, const struct eyrie_request *request, uint32_t place, uint32_t bytes) {
  for (uint32_t begin = 0; begin < bytes;) {
    uint8_t buffer[4096];
    const uint32_t left = bytes - begin, taken = left < sizeof buffer ? left : (uint32_t)sizeof buffer;
    request->platform->read_memory(request->platform->context, place + begin, buffer, taken);
    if (fwrite(buffer, 1, taken, file) != taken) return false;
    begin += taken;
  }
  return true;
}

static bool write_contents(FILE *file, const struct eyrie_request *request) {
  return fprintf(file, "%s\n", request->key) > 0 &&
         (request->scale_count == 0 ||
          fwrite(request->scales, 4, request->scale_count, file) == request->scale_count) &&
         write_memory(file, request, request->filters, request->filter_bytes) &&
         write_memory(file, request, request->bias, request->bias_bytes);
}

/* Writes the file of a request, which is named after its key; false: it cannot be written. */
static bool write_request(const struct eyrie_request *request, char *path, size_t size) {
  const char *folder = getenv("SOC_REQUESTS");
  char own[MOST_PATH];
  uint8_t digest[EYRIE_DIGEST_BYTES];
  struct eyrie_sha256 sha;
  if (folder == NULL || strlen(folder) + 32 > size || strlen(folder) + 32 > sizeof own) return false;
  eyrie_sha256_begin(&sha);
  eyrie_sha256_add(&sha, (const uint8_t *)request->key, (uint32_t)strlen(request->key));
  eyrie_sha256_end(&sha, digest);
  int length = snprintf(path, size, "%s/", folder);
  for (uint32_t n = 0; n < 8; n++) length += snprintf(path + length, size - (size_t)length, "%02x", digest[n]);
  snprintf(path + length, size - (size_t)length, ".request");
  snprintf(own, sizeof own, "%s/XXXXXX", folder);
  const int made = mkstemp(own);
  FILE *file = made >= 0 ? fdopen(made, "wb") : NULL;
  if (file == NULL) return false;
  const bool whole = write_contents(file, request);
  if (fclose(file) == 0 && whole && rename(own, path) == 0) return true;
  (void)unlink(own);
  return false;
}

/* ---- What the compiler answers: the image's file, and numbers of struct eyrie_network ---- */

static bool read_map(FILE *answer, struct eyrie_map *map, char *name) {
  struct eyrie_patches *patches = &map->patches;
  int packed = 0;
  map->name = name;
  if (fscanf(answer, "%15s %u %u %u %u %u %u %d %f %d", name, &map->address, &map->height, &map->width, &map->channels,
             &map->groups, &map->pitch, &packed, &map->scale, &map->zero_point) != 10) return false;
  if (fscanf(answer, "%u %u %u %u %u %u %u %u", &patches->rows, &patches->cols, &patches->height, &patches->width,
             &patches->row_step, &patches->column_step, &patches->top, &patches->left) != 8) return false;
  map->packed = packed != 0;
  return true;
}

static bool read_network(FILE *answer, struct found *found) {
  struct eyrie_network *network = &found->network;
  if (fscanf(answer, "%u %u %u %u %u", &network->bytes, &network->crc, &network->program, &network->program_bytes,
             &network->images) != 5) return false;
  for (uint32_t n = 0; n < EYRIE_SIZES; n++)
    if (fscanf(answer, "%u", &network->sizes[n]) != 1) return false;
  if (fscanf(answer, "%u %u", &network->input_count, &network->output_count) != 2) return false;
  if (network->input_count > MOST_MAPS || network->output_count > MOST_MAPS - network->input_count) return false;
  for (uint32_t n = 0; n < network->input_count + network->output_count; n++)
    if (!read_map(answer, &found->maps[n], found->names[n])) return false;
  network->inputs = found->maps;
  network->outputs = found->maps + network->input_count;
  return true;
}

static bool read_image(const char *path, struct found *found) {
  FILE *file = fopen(path, "rb");
  uint8_t *image = (uint8_t *)malloc(found->network.bytes);
  const uint32_t bytes = found->network.bytes;
  const bool whole = file != NULL && image != NULL && fread(image, 1, bytes, file) == bytes;
  if (file != NULL) (void)fclose(file);
  found->program.image = image;
  return whole;
}

static struct found *read_answer(FILE *answer, char *line, size_t size) {
  struct found *found = (struct found *)calloc(1, sizeof *found);
  if (found == NULL || fgets(line, (int)size, answer) == NULL) line[0] = '\0';
  line[strcspn(line, "\n")] = '\0';
  if (line[0] == '/' && read_network(answer, found) && read_image(line, found)) return found;
  if (found != NULL) free((void *)found->program.image);
  free(found);
  return NULL;
}

static enum eyrie_result compile_request(const struct eyrie_request *request, struct found **made) {
  const char *compiler = getenv("SOC_COMPILE");
  char path[MOST_PATH], command[4 * MOST_PATH], line[MOST_PATH];
  if (compiler == NULL) return EYRIE_NOT_COMPILED;
  if (!write_request(request, path, sizeof path)) return say(request, "no request can be written to SOC_REQUESTS");
  const int length = snprintf(command, sizeof command, "%s '%s' 2>&1", compiler, path);
  FILE *answer = length > 0 && (size_t)length < sizeof command ? popen(command, "r") : NULL;
  if (answer == NULL) return say(request, "the command of SOC_COMPILE cannot be run");
  *made = read_answer(answer, line, sizeof line);
  while (fgetc(answer) != EOF) continue;
  const int ended = pclose(answer);
  if (*made != NULL && WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return EYRIE_OK;
  (void)unlink(path);
  (void)say(request, line);
  return strncmp(line, REJECTED, strlen(REJECTED)) == 0 ? EYRIE_NOT_SUPPORTED : EYRIE_NOT_COMPILED;
}

/* ---- The function of struct eyrie_programs ---- */

static enum eyrie_result compile(void *context, const struct eyrie_request *request,
                                 const struct eyrie_program **program) {
  struct found **first = (struct found **)context, *made = NULL;
  for (struct found *each = *first; each != NULL; each = each->next) {
    if (strcmp(each->program.key, request->key) != 0) continue;
    *program = &each->program;
    return EYRIE_OK;
  }
  char *key = (char *)malloc(strlen(request->key) + 1);
  if (key == NULL) return EYRIE_NOT_COMPILED;
  strcpy(key, request->key);
  const enum eyrie_result result = compile_request(request, &made);
  if (result != EYRIE_OK) {
    free(key);
    return result;
  }
  made->program.key = key;
  made->program.network = &made->network;
  made->next = *first;
  *first = made;
  *program = &made->program;
  return EYRIE_OK;
}

const struct eyrie_programs *eyrie_linked_programs(void) {
  static struct found *first;
  static const struct eyrie_programs programs = {NULL, 0, compile, (void *)&first};
  return &programs;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * An external delegate for LiteRT: the whole graph of an interpreter runs on a back end of Eyrie.
 *
 * The network runs in a process of its own (`python -m eyrie.litert.server`), at the other end of a socket. All
 * numbers on the socket are int64_t of this computer:
 *
 *   server, once    0, CRC-32 of the constants, graphs, inputs, outputs; of each graph: operators, tensors; of each
 *                   input and output: tensor, bytes, rank, dimensions
 *   delegate        a byte, then the bytes of all inputs
 *   server          0, then the bytes of all outputs
 *
 * Instead of 0 the server sends the length of a text that says why it cannot go on, and the text.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "litert_types.h"

extern char **environ;

enum { LONGEST_TEXT = 4096, MOST_NUMBERS = 1 << 20, FIRST_FREE = 3 /* descriptor behind the standard ones */ };

typedef struct {
  int64_t operators, tensors;
} Graph;

typedef struct {
  int64_t tensor, bytes, rank;
  int64_t *dims;
} End;

typedef struct {
  TfLiteDelegate delegate; /* the first field: LiteRT's pointer is a pointer to this struct as well */
  pid_t owner, server; /* the process that made the delegate, and the one that runs the network */
  int socket;
  int64_t constants, graphs, inputs, outputs; /* CRC-32; numbers */
  Graph *graph;                               /* the main graph first */
  End *ends;                                  /* inputs, then outputs */
  int64_t offered;                            /* graphs that LiteRT has offered, or left out */
  char text[LONGEST_TEXT]; /* of the last error */
} Eyrie;

#define INIT_FAILED ((void *)-1) /* LiteRT's value */

static bool fail(Eyrie *eyrie, const char *text) {
  snprintf(eyrie->text, sizeof eyrie->text, "%s", text);
  return false;
}

static bool send_all(Eyrie *eyrie, const void *data, size_t bytes) {
  const char *at = data;
  while (bytes > 0) {
    const ssize_t sent = send(eyrie->socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return fail(eyrie, "the process of eyrie.litert.server has ended");
    at += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

static bool receive_all(Eyrie *eyrie, void *data, size_t bytes) {
  char *at = data;
  while (bytes > 0) {
    const ssize_t received = recv(eyrie->socket, at, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return fail(eyrie, "the process of eyrie.litert.server has ended");
    at += received;
    bytes -= (size_t)received;
  }
  return true;
}

/* Receives 0, or a text, which is an error. */
static bool receive_status(Eyrie *eyrie) {
  int64_t length;
  char text[LONGEST_TEXT] = {0};
  if (!receive_all(eyrie, &length, sizeof length)) return false;
  if (length == 0) return true;
  if (length < 0 || length >= LONGEST_TEXT) return fail(eyrie, "the server sent a text of a wrong length");
  return receive_all(eyrie, text, (size_t)length) && fail(eyrie, text);
}

static bool receive_number(Eyrie *eyrie, int64_t *number) {
  if (!receive_all(eyrie, number, sizeof *number)) return false;
  return (*number >= 0 && *number < MOST_NUMBERS * (int64_t)MOST_NUMBERS) || fail(eyrie, "the server sent a wrong number");
}

static bool receive_end(Eyrie *eyrie, End *end) {
  if (!receive_number(eyrie, &end->tensor) || !receive_number(eyrie, &end->bytes)) return false;
  if (!receive_number(eyrie, &end->rank)) return false;
  if (end->rank >= MOST_NUMBERS) return fail(eyrie, "the server sent a wrong number");
  end->dims = calloc((size_t)end->rank + 1, sizeof *end->dims);
  if (end->dims == NULL) return fail(eyrie, "no memory");
  for (int64_t axis = 0; axis < end->rank; axis++)
    if (!receive_number(eyrie, &end->dims[axis])) return false;
  return true;
}

/* A copy of a descriptor, behind the standard ones, which a program may have closed; the descriptor is closed. */
static int moved(int descriptor) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_FREE);
  close(descriptor);
  return copy;
}

/* Starts a process that has one end of the socket as its standard input, and no other descriptor of this program. */
static int spawn(Eyrie *eyrie, int socket, char **arguments) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  if (fcntl(STDERR_FILENO, F_GETFD) < 0)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, FIRST_FREE);
  const int error = posix_spawnp(&eyrie->server, arguments[0], &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* Starts the server, and receives the description of its network. */
static bool start(Eyrie *eyrie, const char *python, const char *model, const char *back_end, const char *config) {
  int pair[2];
  char *arguments[] = {(char *)python,   "-P",           "-m", "eyrie.litert.server", (char *)model,
                       (char *)back_end, (char *)config, NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return fail(eyrie, strerror(errno));
  eyrie->socket = moved(pair[0]);
  const int other = moved(pair[1]);
  const int error = eyrie->socket < 0 || other < 0 ? errno : spawn(eyrie, other, arguments);
  if (other >= 0) close(other);
  if (error != 0) {
    snprintf(eyrie->text, sizeof eyrie->text, "option python: %s: %s", python, strerror(error));
    return false;
  }
  if (!receive_status(eyrie) || !receive_number(eyrie, &eyrie->constants)) return false;
  if (!receive_number(eyrie, &eyrie->graphs)) return false;
  if (!receive_number(eyrie, &eyrie->inputs) || !receive_number(eyrie, &eyrie->outputs)) return false;
  const int64_t count = eyrie->inputs + eyrie->outputs;
  if (count >= MOST_NUMBERS || eyrie->graphs < 1 || eyrie->graphs >= MOST_NUMBERS)
    return fail(eyrie, "the server sent a wrong number");
  eyrie->graph = calloc((size_t)eyrie->graphs, sizeof *eyrie->graph);
  eyrie->ends = calloc((size_t)count + 1, sizeof *eyrie->ends);
  if (eyrie->graph == NULL || eyrie->ends == NULL) return fail(eyrie, "no memory");
  for (int64_t number = 0; number < eyrie->graphs; number++)
    if (!receive_number(eyrie, &eyrie->graph[number].operators) ||
        !receive_number(eyrie, &eyrie->graph[number].tensors)) return false;
  for (int64_t number = 0; number < count; number++)
    if (!receive_end(eyrie, &eyrie->ends[number])) return false;
  return true;
}

static TfLiteStatus report(TfLiteContext *context, Eyrie *eyrie) {
  context->ReportError(context, "Eyrie: %s", eyrie->text);
  return kTfLiteError;
}

static void *kernel_init(TfLiteContext *context, const char *buffer, size_t length) {
  const TfLiteDelegateParams *part = (const void *)buffer;
  Eyrie *eyrie = (Eyrie *)part->delegate;
  (void)length;
  if (part->nodes_to_replace->size == eyrie->graph[0].operators) return eyrie;
  fail(eyrie, "the interpreter does not give the whole graph to the delegate");
  report(context, eyrie);
  return INIT_FAILED;
}

static bool is_shaped(const TfLiteTensor *tensor, const End *end) {
  if (tensor->dims == NULL || tensor->dims->size != end->rank) return false;
  for (int64_t axis = 0; axis < end->rank; axis++)
    if (tensor->dims->data[axis] != end->dims[axis]) return false;
  return true;
}

/* Inputs must have the shapes of the model's file. Outputs get theirs. */
static TfLiteStatus kernel_prepare(TfLiteContext *context, TfLiteNode *node) {
  Eyrie *eyrie = node->user_data;
  for (int64_t number = 0; number < eyrie->inputs + eyrie->outputs; number++) {
    const End *end = &eyrie->ends[number];
    TfLiteTensor *tensor = &context->tensors[end->tensor];
    if (is_shaped(tensor, end)) continue;
    if (number < eyrie->inputs) {
      snprintf(eyrie->text, sizeof eyrie->text,
               "input %s was resized: a network of Eyrie has the shapes of its file; resize with eyrie.litert.Interpreter",
               tensor->name);
      return report(context, eyrie);
    }
    TfLiteIntArray *dims = malloc(sizeof *dims + (size_t)end->rank * sizeof dims->data[0]); /* LiteRT frees it */
    if (dims == NULL) return kTfLiteError;
    dims->size = (int)end->rank;
    for (int64_t axis = 0; axis < end->rank; axis++) dims->data[axis] = (int)end->dims[axis];
    if (context->ResizeTensor(context, tensor, dims) != kTfLiteOk) return kTfLiteError;
  }
  return kTfLiteOk;
}

/* Moves all inputs, or all outputs, through the socket. */
static bool move(TfLiteContext *context, Eyrie *eyrie, bool inputs) {
  const int64_t count = inputs ? eyrie->inputs : eyrie->outputs;
  for (int64_t number = 0; number < count; number++) {
    const End *end = &eyrie->ends[inputs ? number : eyrie->inputs + number];
    const TfLiteTensor *tensor = &context->tensors[end->tensor];
    if (tensor->bytes != (size_t)end->bytes || (tensor->data == NULL && end->bytes > 0)) {
      snprintf(eyrie->text, sizeof eyrie->text, "tensor %s has %zu bytes instead of %lld", tensor->name, tensor->bytes,
               (long long)end->bytes);
      return false;
    }
    const bool is_moved = inputs ? send_all(eyrie, tensor->data, tensor->bytes)
                                 : receive_all(eyrie, tensor->data, tensor->bytes);
    if (!is_moved) return false;
  }
  return true;
}

static TfLiteStatus kernel_invoke(TfLiteContext *context, TfLiteNode *node) {
  Eyrie *eyrie = node->user_data;
  if (getpid() != eyrie->owner)
    fail(eyrie, "the process was forked: make a delegate in each process");
  else if (send_all(eyrie, "", 1) && move(context, eyrie, true) && receive_status(eyrie) &&
           move(context, eyrie, false))
    return kTfLiteOk;
  return report(context, eyrie);
}

/* CRC-32 (ISO 3309) of the constants of the main graph, tensor by tensor. */
static uint32_t crc_of_constants(const TfLiteContext *context, int64_t tensors) {
  uint32_t table[256], crc = UINT32_MAX;
  for (uint32_t byte = 0; byte < 256; byte++) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; bit++) table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0xedb88320u : 0);
  }
  for (int64_t number = 0; number < tensors; number++) {
    const TfLiteTensor *tensor = &context->tensors[number];
    if (tensor->allocation_type != kTfLiteMmapRo || tensor->data == NULL) continue;
    const uint8_t *bytes = tensor->data;
    for (size_t at = 0; at < tensor->bytes; at++) crc = crc >> 8 ^ table[(crc ^ bytes[at]) & 0xff];
  }
  return ~crc;
}

static bool is_graph(const TfLiteContext *context, const Graph *graph, const TfLiteIntArray *plan) {
  return plan->size == graph->operators && context->tensors_size >= (size_t)graph->tensors;
}

static bool is_of_model(const TfLiteContext *context, const Eyrie *eyrie, const TfLiteIntArray *plan) {
  if (!is_graph(context, &eyrie->graph[0], plan)) return false;
  for (int64_t number = 0; number < eyrie->inputs + eyrie->outputs; number++) {
    const End *end = &eyrie->ends[number];
    if ((size_t)end->tensor >= context->tensors_size) return false;
    if (number < eyrie->inputs && !is_shaped(&context->tensors[end->tensor], end)) return false;
  }
  return crc_of_constants(context, eyrie->graph[0].tensors) == eyrie->constants;
}

/* Replaces all nodes of the main graph by one. */
static TfLiteStatus replace(TfLiteContext *context, TfLiteDelegate *delegate, const TfLiteIntArray *plan) {
  const TfLiteRegistration registration = {
      .init = kernel_init,
      .prepare = kernel_prepare,
      .invoke = kernel_invoke,
      .custom_name = "Eyrie",
      .version = 1,
  };
  return context->ReplaceNodeSubsetsWithDelegateKernels(context, registration, plan, delegate);
}

/* LiteRT offers the graphs of a model in turn, the main graph first, and may leave out others. Those are left as they
 * are: nothing calls them any more. */
static TfLiteStatus prepare(TfLiteContext *context, TfLiteDelegate *delegate) {
  Eyrie *eyrie = (Eyrie *)delegate;
  TfLiteIntArray *plan;
  if (context->GetExecutionPlan(context, &plan) != kTfLiteOk) return kTfLiteError;
  if (eyrie->offered == 0) {
    eyrie->offered = 1;
    if (is_of_model(context, eyrie, plan)) return replace(context, delegate, plan);
    fail(eyrie, "option model: another model than the interpreter's, or its inputs were resized");
    return report(context, eyrie);
  }
  while (eyrie->offered < eyrie->graphs)
    if (is_graph(context, &eyrie->graph[eyrie->offered++], plan)) return kTfLiteOk;
  fail(eyrie, "a delegate is for one interpreter: make another one");
  return report(context, eyrie);
}

void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
  Eyrie *eyrie = (Eyrie *)delegate;
  if (eyrie == NULL) return;
  const bool own = eyrie->owner == getpid();
  if (own && eyrie->socket >= 0) shutdown(eyrie->socket, SHUT_RDWR); /* the server ends, whoever has copies */
  if (eyrie->socket >= 0) close(eyrie->socket);
  while (own && eyrie->server > 0 && waitpid(eyrie->server, NULL, 0) < 0 && errno == EINTR) continue;
  free(eyrie->graph);
  for (int64_t number = 0; eyrie->ends && number < eyrie->inputs + eyrie->outputs; number++)
    free(eyrie->ends[number].dims);
  free(eyrie->ends);
  free(eyrie);
}

/* Options: model (its file), back_end (rtl), config (of the accelerator: a JSON file, or JSON; the default
 * configuration), and python (the program of the environment in which Eyrie is installed; python3). */
TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                              void (*report_error)(const char *)) {
  const char *names[] = {"model", "back_end", "config", "python"};
  const char *options[] = {NULL, "rtl", "", "python3"};
  Eyrie *eyrie = calloc(1, sizeof *eyrie);
  if (eyrie == NULL) return NULL;
  eyrie->socket = -1;
  eyrie->owner = getpid();
  eyrie->delegate.Prepare = prepare;
  eyrie->delegate.flags = kTfLiteDelegateFlagsAllowDynamicTensors;
  bool good = true;
  for (size_t number = 0; number < count; number++) {
    size_t option = 0;
    while (option < 4 && strcmp(keys[number], names[option]) != 0) option++;
    if (option < 4)
      options[option] = values[number];
    else
      good = fail(eyrie, "choose options from model, back_end, config and python");
  }
  if (good && options[0] == NULL) good = fail(eyrie, "give the option model: the file that the interpreter runs");
  if (good && start(eyrie, options[3], options[0], options[1], options[2])) return &eyrie->delegate;
  if (report_error) report_error(eyrie->text);
  tflite_plugin_destroy_delegate(&eyrie->delegate);
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * An external delegate for LiteRT: the whole graph of an interpreter runs on a back end of Eyrie.
 *
 * The network runs in a process of its own (`python -m eyrie.litert.server`), at the other end of a socket. All
 * numbers on the socket are int64_t of this computer:
 *
 *   server, once    0, operators, inputs, outputs, then of each input and output: tensor, bytes, rank, dimensions
 *   delegate        a byte, then the bytes of all inputs
 *   server          0, then the bytes of all outputs
 *
 * Instead of 0 the server sends the length of a text that says why it cannot go on, and the text.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "litert_types.h"

extern char **environ;

enum { LONGEST_TEXT = 4096, MOST_NUMBERS = 1 << 20 };

typedef struct {
  int64_t tensor, bytes, rank;
  int64_t *dims;
} End;

typedef struct {
  TfLiteDelegate delegate; /* the first field: LiteRT's pointer is a pointer to this struct as well */
  pid_t server;
  int socket;
  int64_t operators, inputs, outputs;
  End *ends;           /* inputs, then outputs */
  TfLiteContext *main; /* the main graph of the interpreter */
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
  if (!receive_number(eyrie, &end->rank) || end->rank >= MOST_NUMBERS) return false;
  end->dims = calloc((size_t)end->rank + 1, sizeof *end->dims);
  if (end->dims == NULL) return fail(eyrie, "no memory");
  for (int64_t axis = 0; axis < end->rank; axis++)
    if (!receive_number(eyrie, &end->dims[axis])) return false;
  return true;
}

/* Starts the server, and receives the description of its network. */
static bool start(Eyrie *eyrie, const char *python, const char *model, const char *back_end, const char *config) {
  int pair[2];
  posix_spawn_file_actions_t actions;
  char *arguments[] = {(char *)python, "-m",           "eyrie.litert.server", (char *)model,
                       (char *)back_end, (char *)config, NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return fail(eyrie, strerror(errno));
  eyrie->socket = pair[0];
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int error = posix_spawnp(&eyrie->server, python, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pair[1]);
  if (error != 0) {
    snprintf(eyrie->text, sizeof eyrie->text, "option python: %s: %s", python, strerror(error));
    return false;
  }
  if (!receive_status(eyrie) || !receive_number(eyrie, &eyrie->operators)) return false;
  if (!receive_number(eyrie, &eyrie->inputs) || !receive_number(eyrie, &eyrie->outputs)) return false;
  const int64_t count = eyrie->inputs + eyrie->outputs;
  if (count >= MOST_NUMBERS) return fail(eyrie, "the server sent a wrong number");
  eyrie->ends = calloc((size_t)count + 1, sizeof *eyrie->ends);
  if (eyrie->ends == NULL) return fail(eyrie, "no memory");
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
  if (part->nodes_to_replace->size == eyrie->operators) return eyrie;
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

static TfLiteStatus kernel_invoke(TfLiteContext *context, TfLiteNode *node) {
  Eyrie *eyrie = node->user_data;
  if (!send_all(eyrie, "", 1)) return report(context, eyrie);
  for (int64_t number = 0; number < eyrie->inputs + eyrie->outputs; number++) {
    const End *end = &eyrie->ends[number];
    const TfLiteTensor *tensor = &context->tensors[end->tensor];
    if (tensor->data == NULL || tensor->bytes != (size_t)end->bytes) {
      snprintf(eyrie->text, sizeof eyrie->text, "tensor %s has %zu bytes instead of %lld", tensor->name, tensor->bytes,
               (long long)end->bytes);
      return report(context, eyrie);
    }
    if (number == eyrie->inputs && !receive_status(eyrie)) return report(context, eyrie);
    const bool moved = number < eyrie->inputs ? send_all(eyrie, tensor->data, tensor->bytes)
                                              : receive_all(eyrie, tensor->data, tensor->bytes);
    if (!moved) return report(context, eyrie);
  }
  return kTfLiteOk;
}

static bool is_of_model(TfLiteContext *context, const Eyrie *eyrie, const TfLiteIntArray *plan) {
  if (plan->size != eyrie->operators) return false;
  for (int64_t number = 0; number < eyrie->inputs + eyrie->outputs; number++) {
    const End *end = &eyrie->ends[number];
    if ((size_t)end->tensor >= context->tensors_size) return false;
    if (number < eyrie->inputs && !is_shaped(&context->tensors[end->tensor], end)) return false;
  }
  return true;
}

/* Replaces all nodes of the main graph by one. LiteRT calls this function for all graphs of the model, the main graph
 * first; the others are left as they are, since nothing calls them any more. */
static TfLiteStatus prepare(TfLiteContext *context, TfLiteDelegate *delegate) {
  Eyrie *eyrie = (Eyrie *)delegate;
  TfLiteIntArray *plan;
  if (context->GetExecutionPlan(context, &plan) != kTfLiteOk) return kTfLiteError;
  const bool matches = is_of_model(context, eyrie, plan);
  if (eyrie->main != NULL && context != eyrie->main) {
    if (!matches) return kTfLiteOk;
    fail(eyrie, "a delegate is for one interpreter: make another one");
    return report(context, eyrie);
  }
  if (!matches) {
    fail(eyrie, "option model: another model than the interpreter's, or its inputs were resized");
    return report(context, eyrie);
  }
  eyrie->main = context;
  const TfLiteRegistration registration = {
      .init = kernel_init,
      .prepare = kernel_prepare,
      .invoke = kernel_invoke,
      .custom_name = "Eyrie",
      .version = 1,
  };
  return context->ReplaceNodeSubsetsWithDelegateKernels(context, registration, plan, delegate);
}

void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
  Eyrie *eyrie = (Eyrie *)delegate;
  if (eyrie == NULL) return;
  if (eyrie->socket >= 0) close(eyrie->socket); /* the server ends */
  if (eyrie->server > 0) waitpid(eyrie->server, NULL, 0);
  for (int64_t number = 0; eyrie->ends && number < eyrie->inputs + eyrie->outputs; number++)
    free(eyrie->ends[number].dims);
  free(eyrie->ends);
  free(eyrie);
}

/* Options: model (its file), back_end (rtl), config (of the
 * accelerator: a JSON file, or JSON; the default configuration), and
 * python (the program of the environment in which Eyrie is installed; python3). */
TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                                     void (*report_error)(const char *)) {
  const char *names[] = {"model", "back_end", "config", "python"};
  const char *options[] = {NULL, "rtl", "", "python3"};
  Eyrie *eyrie = calloc(1, sizeof *eyrie);
  if (eyrie == NULL) return NULL;
  eyrie->socket = -1;
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

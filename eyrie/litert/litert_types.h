/* SPDX-License-Identifier: Apache-2.0
 *
 * The types that LiteRT and an external delegate share, as far as this delegate uses them. Their fields and the order
 * of these are those of LiteRT 2's documentation of `common.h`:
 * https://ai.google.dev/edge/api/tflite/c/struct/tf-lite-context
 *
 * Pointers that the delegate does not use are `void *`.
 */

#ifndef EYRIE_LITERT_TYPES_H
#define EYRIE_LITERT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { kTfLiteOk = 0, kTfLiteError = 1 } TfLiteStatus;

enum { kTfLiteMmapRo = 1 }; /* allocation_type: constants */

typedef struct {
  int size;
  int data[];
} TfLiteIntArray;

typedef struct {
  int type;
  void *data;
  TfLiteIntArray *dims;
  struct {
    float scale;
    int32_t zero_point;
  } params;
  int allocation_type;
  size_t bytes;
  const void *allocation;
  const char *name;
  void *delegate;
  int buffer_handle;
  bool data_is_stale;
  bool is_variable;
  struct {
    int type;
    void *params;
  } quantization;
  void *sparsity;
  const TfLiteIntArray *dims_signature;
} TfLiteTensor;

typedef struct {
  TfLiteIntArray *inputs;
  TfLiteIntArray *outputs;
  TfLiteIntArray *intermediates;
  TfLiteIntArray *temporaries;
  void *user_data;
} TfLiteNode; /* the fields that follow are not used */

typedef struct TfLiteContext TfLiteContext;
typedef struct TfLiteDelegate TfLiteDelegate;

typedef struct {
  TfLiteDelegate *delegate;
  TfLiteIntArray *nodes_to_replace;
  TfLiteIntArray *input_tensors;
  TfLiteIntArray *output_tensors;
} TfLiteDelegateParams;

typedef struct {
  void *(*init)(TfLiteContext *context, const char *buffer, size_t length);
  void (*free)(TfLiteContext *context, void *buffer);
  TfLiteStatus (*prepare)(TfLiteContext *context, TfLiteNode *node);
  TfLiteStatus (*invoke)(TfLiteContext *context, TfLiteNode *node);
  const char *(*profiling_string)(const TfLiteContext *context, const TfLiteNode *node);
  int32_t builtin_code;
  const char *custom_name;
  int version;
  void *registration_external;
  void *async_kernel;
  uint64_t inplace_operator;
} TfLiteRegistration;

struct TfLiteContext {
  size_t tensors_size;
  TfLiteStatus (*GetExecutionPlan)(TfLiteContext *context, TfLiteIntArray **execution_plan);
  TfLiteTensor *tensors;
  void *impl;
  TfLiteStatus (*ResizeTensor)(TfLiteContext *context, TfLiteTensor *tensor, TfLiteIntArray *new_size);
  void (*ReportError)(TfLiteContext *context, const char *format, ...);
  void *AddTensors;
  void *GetNodeAndRegistration;
  TfLiteStatus (*ReplaceNodeSubsetsWithDelegateKernels)(TfLiteContext *context, TfLiteRegistration registration,
                                                        const TfLiteIntArray *nodes_to_replace,
                                                        TfLiteDelegate *delegate);
}; /* the fields that follow are not used */

enum { kTfLiteDelegateFlagsAllowDynamicTensors = 1 };

struct TfLiteDelegate {
  void *data_;
  TfLiteStatus (*Prepare)(TfLiteContext *context, TfLiteDelegate *delegate);
  void *CopyFromBufferHandle;
  void *CopyToBufferHandle;
  void *FreeBufferHandle;
  int64_t flags;
  void *opaque_delegate_builder;
};

#endif

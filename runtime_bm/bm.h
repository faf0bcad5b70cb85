// Ironcast runtime: the public interface for applications, C and C++.
//
//   #include "my_model.h"   // emitted by the compiler
//   #include "runtime_bm/bm.h"
//
//   static uint8_t arena[MY_MODEL_ARENA_BYTES] BM_ALIGNED;
//   bm_model_t model;
//   bm_model_init(&model, &my_model_plan, arena_span, no_code);
//   bm_model_set_input(&model, 0, BM_DTYPE_F32, shape, 2, data, sizeof(data));
//   bm_model_run(&model);
//   bm_tensor_t result;
//   bm_model_output(&model, 0, &result);
//
// A model with several entry points, or one that remembers:
//
//   bm_model_t decode;
//   bm_model_entry(&model, "decode", &decode);  // same memory, another
//   function bm_model_run(&decode); bm_model_reset(&model); // forget
//
// No heap, no libc, no global state: a model lives in the memory its caller
// hands over, and several models can exist at once; only what a model remembers
// between runs is in its plan, so that such a plan serves one model at a time.
// Nothing here may be called for one model from two threads at the same time.
#ifndef RUNTIME_BM_BM_H_
#define RUNTIME_BM_BM_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/dtype.h"
#include "runtime_bm/base/span.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/plan/plan.h"
#include "runtime_bm/plan/plan_run.h"

BM_EXTERN_C_BEGIN

// Alignment of an arena, for static arrays.
#define BM_ALIGNED __attribute__((aligned(64)))

// Called after every command of a run; `index` counts the plan's commands.
typedef void (*bm_observer_t)(void *context, uint32_t index);

// One entry point of a model. Caller-allocated; the fields belong to the
// runtime.
typedef struct bm_model_t {
  bm_plan_runner_t runner;
  const bm_plan_entry_t *entry;
} bm_model_t;

// A view of an input or output inside the arena. Dense and row-major.
typedef struct bm_tensor_t {
  void *data;
  const char *name;
  const uint32_t *shape;
  uint32_t rank;
  uint32_t dtype;  // bm_dtype_t
  size_t bytes;
} bm_tensor_t;

// What a caller must provide before bm_model_init.
typedef struct bm_model_info_t {
  size_t arena_bytes;  // 64-byte aligned
  size_t code_bytes;   // 4096-byte aligned; 0 when the kernels are prelinked
} bm_model_info_t;

// Tells what `plan` needs. Errors: DATA_LOSS or UNIMPLEMENTED when its kernels
// are to be loaded at run time and are not an ELF this runtime can load.
BM_MUST_USE bm_status_t bm_model_info(const bm_plan_t *plan,
                                      bm_model_info_t *out_info);

// Checks everything about `plan` and prepares `out_model`. `plan` and both
// spans must outlive the model. `code` is used only for kernels that are
// loaded at run time; pass {NULL, 0} otherwise.
// Errors: FAILED_PRECONDITION when this hart cannot run the kernels,
// RESOURCE_EXHAUSTED when a span is too small, INVALID_ARGUMENT when one is
// misaligned, and DATA_LOSS, OUT_OF_RANGE, NOT_FOUND or UNIMPLEMENTED for a
// plan or kernels that are malformed. On an error no kernel has run.
// The model is its plan's first entry point, its state the initial one.
BM_MUST_USE bm_status_t bm_model_init(bm_model_t *out_model,
                                      const bm_plan_t *plan, bm_span_t arena,
                                      bm_span_t code);

// Another entry point of an initialised model, which shares arena and state
// with it. Error: NOT_FOUND.
BM_MUST_USE bm_status_t bm_model_entry(const bm_model_t *model,
                                       const char *name, bm_model_t *out_model);

// Gives the state its initial value; does nothing for a model without state.
BM_MUST_USE bm_status_t bm_model_reset(const bm_model_t *model);

// Views an input or output. Error: INVALID_ARGUMENT when there is no such
// index. An input's bytes may be overwritten by a run: set it before each.
BM_MUST_USE bm_status_t bm_model_input(const bm_model_t *model, uint32_t index,
                                       bm_tensor_t *out_tensor);
BM_MUST_USE bm_status_t bm_model_output(const bm_model_t *model, uint32_t index,
                                        bm_tensor_t *out_tensor);

// Copies `bytes` bytes into an input after comparing index, dtype, rank, shape
// and size with what the model was compiled for. Error: INVALID_ARGUMENT.
BM_MUST_USE bm_status_t bm_model_set_input(bm_model_t *model, uint32_t index,
                                           uint32_t dtype,
                                           const uint32_t *shape, uint32_t rank,
                                           const void *data, size_t bytes);

// Runs the model once: inputs to outputs. Error: INTERNAL when a kernel
// reports one; the outputs are then unspecified.
BM_MUST_USE bm_status_t bm_model_run(bm_model_t *model);

// Calls `observer` after every command of later runs; NULL turns it off.
void bm_model_observe(bm_model_t *model, bm_observer_t observer, void *context);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_BM_H_

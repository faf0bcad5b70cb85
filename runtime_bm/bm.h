// Ironcast runtime: the public interface for applications, C and C++.
//
//   #include "models/mlp/mlp/mlp.h"  // the build makes it, for every model
//
//   static mlp_arena_t arena;  // inputs, outputs and what is between them
//   static bm_model_t model;
//
//   // Once, before anything else.
//   static bm_status_t start(void) { return mlp_init(&model, &arena); }
//
//   // As often as there are inputs. `*out_scores` is in the arena.
//   static bm_status_t classify(const float *pixels, const float **out_scores)
//   {
//     float *image = mlp_input_image(&model);
//     for (int i = 0; i < MLP_INPUT_IMAGE_ELEMENTS; ++i) image[i] = pixels[i];
//     BM_TRY(bm_model_run(&model));
//     *out_scores = mlp_output_logits(&model);
//     return bm_ok();
//   }
//
// Code that serves any model asks for its tensors by number (bm_model_input).
// Whoever calls these asks bm_status_is_ok(classify(pixels, &scores)), and
// bm_status_text says what went wrong. A model with several entry points, or
// with state:
//
//   // Starts over and calls another entry point.
//   static bm_status_t decode(const bm_model_t *any) {
//     bm_model_t other;
//     BM_TRY(bm_model_entry(any, "decode", &other));  // same arena and state
//     BM_TRY(bm_model_reset(&other));                 // to the initial state
//     return bm_model_run(&other);
//   }
//
// No heap, no libc, no global state: a model uses the memory its caller
// provides, and several models can exist at once. The one exception is the
// state a model keeps between runs. It is in the plan, so a plan with state
// serves only one model at a time. Do not call these functions for one model
// from two threads at the same time.
#ifndef RUNTIME_BM_BM_H_
#define RUNTIME_BM_BM_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/check.h"
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

// One entry point of a model. The caller allocates it; the fields are private
// to the runtime.
typedef struct bm_model_t {
  bm_plan_runner_t runner;
  const bm_plan_entry_t *entry;
} bm_model_t;

// A view of an input or output inside the arena. Dense and row-major. Of one
// without elements, nothing reads or writes `data`, and `bytes` is 0.
typedef struct bm_tensor_t {
  void *data;
  const char *name;
  const uint32_t *shape;
  uint32_t rank;
  uint32_t dtype;  // bm_dtype_t
  size_t bytes;
} bm_tensor_t;

// The memory a caller must provide to bm_model_init.
typedef struct bm_model_info_t {
  size_t arena_bytes;  // 64-byte aligned
  size_t code_bytes;   // 4096-byte aligned; 0 when the kernels are prelinked
} bm_model_info_t;

// Returns the memory that `plan` needs. Errors: DATA_LOSS or UNIMPLEMENTED when
// its kernels must be loaded at run time but are not an ELF that this runtime
// can load.
BM_MUST_USE bm_status_t bm_model_info(const bm_plan_t *plan,
                                      bm_model_info_t *out_info);

// Compares the next `bytes` bytes (at least 4) of the model with the checks
// that the build made, at most up to the end of a part: its plan, its kernels,
// its weights (bm_part_t). An application calls it whenever it has time.
//
//   static bm_status_t verify(const bm_plan_t *plan) {
//     bm_verify_t at = {0};
//     while (at.part != BM_PART_COUNT) {
//       BM_TRY(bm_model_verify(plan, 4096, &at));  // what differs is at.part
//       // Whatever else is to be done.
//     }
//     return bm_ok();
//   }
//
// It takes an instruction per byte on 64 bits and 2.5 on 32 bits.
// Errors: DAMAGED when they differ; FAILED_PRECONDITION when there are no
// checks, as in a host program that bm_firmware did not link; INVALID_ARGUMENT
// after the last part.
BM_MUST_USE bm_status_t bm_model_verify(const bm_plan_t *plan, size_t bytes,
                                        bm_verify_t *at);

// Checks everything in `plan` and prepares `out_model`. `plan` and both spans
// must outlive the model. `code` is used only for kernels that are loaded at
// run time; pass {NULL, 0} otherwise.
// Errors: FAILED_PRECONDITION when this hart cannot run the kernels,
// HART_MISSING when the machine has fewer harts than the image is for,
// RESOURCE_EXHAUSTED when a span is too small, INVALID_ARGUMENT when one is
// misaligned, DAMAGED when the plan or the kernels are not those that were
// built, and DATA_LOSS, OUT_OF_RANGE, NOT_FOUND or UNIMPLEMENTED when they are
// malformed. Weights may be large, so they are left to bm_model_verify. On an
// error no kernel has run. The model is the plan's first entry point, in its
// initial state.
BM_MUST_USE bm_status_t bm_model_init(bm_model_t *out_model,
                                      const bm_plan_t *plan, bm_span_t arena,
                                      bm_span_t code);

// Finds another entry point of an initialized model. Both share arena and
// state. Error: NOT_FOUND.
BM_MUST_USE bm_status_t bm_model_entry(const bm_model_t *model,
                                       const char *name, bm_model_t *out_model);

// Restores the initial state; does nothing for a model without state.
BM_MUST_USE bm_status_t bm_model_reset(const bm_model_t *model);

// Returns a view of an input or output. Error: INVALID_ARGUMENT when there is
// no such index. A run may overwrite its inputs: set them before each run.
BM_MUST_USE bm_status_t bm_model_input(const bm_model_t *model, uint32_t index,
                                       bm_tensor_t *out_tensor);
BM_MUST_USE bm_status_t bm_model_output(const bm_model_t *model, uint32_t index,
                                        bm_tensor_t *out_tensor);

// Where a generated header finds an input or output: `offset` bytes into the
// arena.
static inline void *bm_model_at(const bm_model_t *model, uint32_t offset) {
  return model->runner.regions[BM_PLAN_REGION_ARENA] + offset;
}

// Copies `bytes` bytes into an input after comparing index, dtype, rank, shape
// and size with what the model was compiled for. Error: INVALID_ARGUMENT.
BM_MUST_USE bm_status_t bm_model_set_input(bm_model_t *model, uint32_t index,
                                           uint32_t dtype,
                                           const uint32_t *shape, uint32_t rank,
                                           const void *data, size_t bytes);

// Runs the model once: computes outputs from inputs. Error: INTERNAL when a
// kernel reports an error; the outputs are then unspecified.
BM_MUST_USE bm_status_t bm_model_run(bm_model_t *model);

// Calls `observer` after every command of later runs; NULL turns it off. With
// several harts, hart 0 calls it after its part of the command.
void bm_model_observe(bm_model_t *model, bm_observer_t observer, void *context);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_BM_H_

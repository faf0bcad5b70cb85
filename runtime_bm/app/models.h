// The models of a firmware image, for the application: its table of contents.
// The build generates the .c file that defines the table (bm_firmware).
//
//   bm_model_t model;
//   const bm_firmware_model_t *entry = bm_firmware_find("digits");
//   bm_firmware_init(entry, &model);
//
// All models share one arena, as large as the largest of them needs. Setting
// an input or running a model destroys the inputs and outputs of the others, so
// copy an output out before you use another model. Every model stays
// initialized.
#ifndef RUNTIME_BM_APP_MODELS_H_
#define RUNTIME_BM_APP_MODELS_H_

#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

typedef struct bm_firmware_model_t {
  const char *name;
  const bm_plan_t *plan;
  bm_span_t code;  // see bm_model_init
} bm_firmware_model_t;

extern const bm_firmware_model_t bm_firmware_models[];
extern const uint32_t bm_firmware_model_count;  // at least 1
extern const bm_span_t bm_firmware_arena;

// Returns the model with that name, or NULL.
const bm_firmware_model_t *bm_firmware_find(const char *name);

// Compares what belongs to no model with the checks that the build made: code,
// constants and, because main has not changed any yet, initial values of
// variables. Call it first, with a zeroed `at`; of the models, bm_model_verify
// does the same. Errors: DAMAGED, with at->part a bm_image_part_t;
// FAILED_PRECONDITION when the image was linked without its checks.
BM_MUST_USE bm_status_t bm_firmware_verify(bm_verify_t *at);

// Calls bm_model_init with the image's memory.
BM_MUST_USE bm_status_t bm_firmware_init(const bm_firmware_model_t *entry,
                                         bm_model_t *out_model);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_MODELS_H_

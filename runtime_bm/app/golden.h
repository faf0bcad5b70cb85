// Self-check data: inputs, the outputs the model's own framework computed for
// them, and how closely the target must agree. Emitted by the compiler.
#ifndef RUNTIME_BM_APP_GOLDEN_H_
#define RUNTIME_BM_APP_GOLDEN_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// bm_golden_output_t.policy.
enum {
  // Every byte is equal.
  BM_GOLDEN_EXACT = 0,
  // Floating point: |got - want| <= atol + rtol * |want| for every element
  // and, when min_cosine > -1, the cosine of every row (last dimension) is at
  // least min_cosine. A NaN passes only where a NaN is wanted.
  BM_GOLDEN_FLOAT = 1,
  // Integers: |got - want| <= max_step.
  BM_GOLDEN_INT_STEP = 2,
};

// Every case's inputs and outputs start at a multiple of this.
enum { BM_GOLDEN_ALIGNMENT = 64 };

typedef struct bm_golden_output_t {
  uint32_t policy;
  float atol;
  float rtol;
  float min_cosine;  // <= -1: not checked
  uint32_t max_step;
} bm_golden_output_t;

typedef struct bm_golden_t {
  uint32_t case_count;
  // Per case: inputs in order, then expected outputs in order, each padded to
  // BM_GOLDEN_ALIGNMENT.
  const uint8_t *data;
  uint32_t case_bytes;
  const bm_golden_output_t *outputs;  // one per model output
  // The class of each case, as little-endian u32[case_count]; NULL if none.
  const uint8_t *labels;
  // How many cases the framework classifies right (argmax of output 0).
  uint32_t framework_correct;
} bm_golden_t;

BM_STATIC_ASSERT(sizeof(bm_golden_output_t) == 20, "golden ABI");
BM_STATIC_ASSERT(sizeof(bm_golden_t) == 48, "golden ABI");

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_GOLDEN_H_

// Self-check data: inputs, the outputs that the model's own framework computed
// for them, how closely the target must agree, and what kernels read and write.
// The compiler emits it.
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
  // least min_cosine. A NaN passes only where a NaN is expected.
  BM_GOLDEN_FLOAT = 1,
  // Integers: |got - want| <= max_step for every element, and at most
  // max_differing elements of the output differ at all in one case.
  BM_GOLDEN_INT_STEP = 2,
};

// The inputs and outputs of each case start at a multiple of this.
enum { BM_GOLDEN_ALIGNMENT = 64 };

typedef struct bm_golden_output_t {
  uint32_t policy;
  float atol;
  float rtol;
  float min_cosine;  // <= -1: not checked
  uint32_t max_step;
  uint32_t max_differing;
} bm_golden_output_t;

// A case calls entry point number `entry` of the plan. If `reset` is not zero,
// the model's state is reset first.
typedef struct bm_golden_call_t {
  uint16_t entry;
  uint16_t reset;
} bm_golden_call_t;

typedef struct bm_golden_t {
  uint32_t case_count;
  // Case after case: inputs in order, then expected outputs in order, each
  // padded to BM_GOLDEN_ALIGNMENT.
  const uint8_t *data;
  uint32_t data_bytes;
  const bm_golden_output_t *outputs;  // one per output of the plan
  // The class of each case, as little-endian u32[case_count]; NULL if none.
  const uint8_t *labels;
  // How many cases the framework classifies correctly (argmax of output 0).
  uint32_t framework_correct;
  const bm_golden_call_t
      *calls;  // one per case; NULL: all call the first entry
  // bm_dtype_t of what each binding of the plan holds; 0: nothing known.
  const uint8_t *dtypes;
} bm_golden_t;

BM_ABI_SIZE(bm_golden_output_t, 24, 24);
BM_ABI_SIZE(bm_golden_call_t, 4, 4);
BM_ABI_SIZE(bm_golden_t, 64, 32);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_GOLDEN_H_

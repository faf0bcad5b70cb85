// Compares an output with the golden output under its policy.
#ifndef RUNTIME_BM_APP_COMPARE_H_
#define RUNTIME_BM_APP_COMPARE_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/app/golden.h"
#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

// The result for a case so far, over all its outputs.
typedef struct bm_compare_t {
  bool ok;
  double max_abs;      // NaN after the first NaN
  uint64_t differing;  // elements whose values are not equal
  bool has_cosine;     // an output asked for it
  double min_cosine;   // NaN after the first NaN
} bm_compare_t;

void bm_compare_begin(bm_compare_t *compare);

// Adds one output. `want` has the size and alignment of `got`.
void bm_compare_output(bm_compare_t *compare, const bm_golden_output_t *policy,
                       const bm_tensor_t *got, const void *want);

// Index of the first largest element of `tensor`, 0 if all are NaN.
uint32_t bm_compare_argmax(const bm_tensor_t *tensor);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_COMPARE_H_

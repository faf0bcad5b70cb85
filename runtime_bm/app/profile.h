// Measures where the instructions of a run go. Firmware links profile_on.c or
// profile_off.c.
#ifndef RUNTIME_BM_APP_PROFILE_H_
#define RUNTIME_BM_APP_PROFILE_H_

#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

#define BM_PROFILE_UNKNOWN UINT64_MAX

typedef struct bm_profile_t {
  // Instructions that the run took only because it was profiled.
  uint64_t observing;
  // Instructions of the runtime itself, not counting kernels.
  uint64_t walker;     // per dispatch of one workgroup, or BM_PROFILE_UNKNOWN
  uint64_t workgroup;  // per additional workgroup, or BM_PROFILE_UNKNOWN
} bm_profile_t;

// Makes the next run of `model` print a DISPATCH record per command. The model
// must have an observer; it is still called.
void bm_profile_begin(bm_model_t *model);

// Call this after that run. It does not change the model's buffers.
bm_profile_t bm_profile_end(const bm_model_t *model);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_PROFILE_H_

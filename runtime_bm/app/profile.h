// Measures where the instructions of a run go. Firmware links profile_on.c or
// profile_off.c.
#ifndef RUNTIME_BM_APP_PROFILE_H_
#define RUNTIME_BM_APP_PROFILE_H_

#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

#define BM_PROFILE_UNKNOWN UINT64_MAX

// Instructions of the runtime itself, not counting kernels.
typedef struct bm_profile_t {
  uint64_t walker;     // per dispatch of one workgroup, or BM_PROFILE_UNKNOWN
  uint64_t workgroup;  // per additional workgroup, or BM_PROFILE_UNKNOWN
} bm_profile_t;

// Runs the model with the inputs already set, and prints a DISPATCH record per
// command. The arena is unspecified afterwards.
bm_profile_t bm_profile(const bm_model_t *model);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_PROFILE_H_

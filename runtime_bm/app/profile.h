// Where the instructions of a run go. A firmware links profile_on.c or
// profile_off.c.
#ifndef RUNTIME_BM_APP_PROFILE_H_
#define RUNTIME_BM_APP_PROFILE_H_

#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

#define BM_PROFILE_UNKNOWN UINT64_MAX

// Runs the model, whose inputs are set, and prints a DISPATCH record per
// command. Returns the instructions spent outside the kernels per dispatch,
// workgroup loop included, or BM_PROFILE_UNKNOWN. The arena is unspecified
// afterwards.
uint64_t bm_profile(const bm_model_t *model);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_PROFILE_H_

// Measures where the instructions of a run go. Firmware links profile_on.c, or
// profile_harts.c if it is for several harts, or profile_off.c.
#ifndef RUNTIME_BM_APP_PROFILE_H_
#define RUNTIME_BM_APP_PROFILE_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

#define BM_PROFILE_UNKNOWN UINT64_MAX

typedef struct bm_profile_t {
  // Instructions that the run took only because it was profiled.
  uint64_t observing;
  // Cycles of the observer, but for those in which it is called.
  uint64_t observing_cycles;
  // Instructions of the runtime itself, not counting kernels.
  uint64_t walker;     // per dispatch of one workgroup, or BM_PROFILE_UNKNOWN
  uint64_t workgroup;  // per additional workgroup, or BM_PROFILE_UNKNOWN
} bm_profile_t;

// Whether a profile would change what runs beside what, because the image has
// devices or is for several harts. Then it is a run of its own, in which the
// hart waits for devices after each command, or harts for each other's records,
// and bm_profile_begin and bm_profile_end belong to another one.
bool bm_profile_is_apart(void);

// Makes the next run of `model` print the DISPATCH records of such a profile.
// The model must have an observer; it is still called.
void bm_profile_begin_apart(bm_model_t *model);

// Makes the next run of `model` print a DISPATCH record per command, if they
// are not apart. The model must have an observer; it is still called.
void bm_profile_begin(bm_model_t *model);

// Call this after that run. It does not change the model's buffers. Prints a
// DEVICE record if the image has devices.
bm_profile_t bm_profile_end(const bm_model_t *model);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_PROFILE_H_

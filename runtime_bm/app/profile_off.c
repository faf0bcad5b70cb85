#include "runtime_bm/app/profile.h"

bool bm_profile_is_apart(void) { return false; }

void bm_profile_begin_apart(bm_model_t *model) { (void)model; }

void bm_profile_begin(bm_model_t *model) { (void)model; }

bm_profile_t bm_profile_end(const bm_model_t *model) {
  const bm_profile_t none = {0, 0, BM_PROFILE_UNKNOWN, BM_PROFILE_UNKNOWN};
  (void)model;
  return none;
}

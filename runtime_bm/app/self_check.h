// Runs a model's golden cases and reports them in the console protocol.
#ifndef RUNTIME_BM_APP_SELF_CHECK_H_
#define RUNTIME_BM_APP_SELF_CHECK_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/app/golden.h"
#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

typedef struct bm_self_check_t {
  bool ok;       // every case matched, with the expected accuracy
  uint32_t bad;  // cases that did not match
} bm_self_check_t;

// Error: INVALID_ARGUMENT when `golden` does not belong to `plan`.
BM_MUST_USE bm_status_t bm_self_check_verify(const bm_plan_t *plan,
                                             const bm_golden_t *golden);

// Runs every case of a verified `golden`: prints CASE and summary records and
// calls the hooks. Errors: those of bm_model_run.
BM_MUST_USE bm_status_t bm_self_check_run(const char *name, bm_model_t *model,
                                          const bm_golden_t *golden,
                                          bm_self_check_t *out_check);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_SELF_CHECK_H_

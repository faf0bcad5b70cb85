// What plan_abi.json describes, for plan_abi.py: the structs of these headers
// that have a BM_ABI_SIZE, enumerations, and limits by their names there.
#include "runtime_bm/app/golden.h"
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/plan/plan.h"

enum {
  ALIGNMENT = BM_PLAN_ALIGNMENT,
  MAX_BINDINGS = BM_PLAN_MAX_BINDINGS,
  MAX_HARTS = BM_MAX_HARTS,
  MAX_RANK = BM_PLAN_MAX_RANK,
  LINKED = BM_PLAN_LINKED,
  NO_DRIVER = BM_PLAN_NO_DRIVER,
  GOLDEN_ALIGNMENT = BM_GOLDEN_ALIGNMENT,
};

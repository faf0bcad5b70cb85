#include "runtime_bm/base/range.h"
#include "runtime_bm/plan/plan_verify.h"

#define BM_FILE BM_FILE_PLAN_ORDER

// True if one of the two writes bytes that the other reads or writes.
static bool conflict(const bm_plan_binding_t *bindings,
                     const bm_plan_command_t *a, const bm_plan_command_t *b) {
  for (uint32_t i = 0; i < a->binding_count; ++i) {
    const bm_plan_binding_t *left = &bindings[a->first_binding + i];
    for (uint32_t j = 0; j < b->binding_count; ++j) {
      const bm_plan_binding_t *right = &bindings[b->first_binding + j];
      if (((left->access | right->access) & BM_PLAN_ACCESS_WRITE) != 0 &&
          bm_plan_bindings_overlap(left, right)) {
        return true;
      }
    }
  }
  return false;
}

bm_status_t bm_plan_verify_order(const bm_plan_t *plan) {
  const bm_plan_command_t *commands = bm_plan_commands(plan);
  // The first command since the last barrier.
  uint32_t first = 0;
  for (uint32_t i = 0; i < plan->header->commands.count; ++i) {
    const uint32_t *count = commands[i].workgroup_count;
    const uint64_t rows = (uint64_t)count[1] * count[2];
    BM_CHECK(rows == 0 || count[0] <= UINT32_MAX / rows, UNIMPLEMENTED);
    if ((commands[i].flags & BM_COMMAND_BARRIER) != 0) first = i;
    // Rows that drivers change may be anywhere.
    BM_CHECK(plan->bindings == NULL || first == i, DATA_LOSS);
    for (uint32_t j = first; j < i; ++j) {
      BM_CHECK(!conflict(bm_plan_bindings(plan), &commands[j], &commands[i]),
               DATA_LOSS);
    }
  }
  return bm_ok();
}

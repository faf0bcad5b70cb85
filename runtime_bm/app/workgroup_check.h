// Proves on the target that harts may share the workgroups of a dispatch: runs
// each one alone, and finds out which bytes it writes and whether it needs what
// another one writes.
#ifndef RUNTIME_BM_APP_WORKGROUP_CHECK_H_
#define RUNTIME_BM_APP_WORKGROUP_CHECK_H_

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

typedef enum bm_workgroup_fault_t {
  BM_WORKGROUP_OK = 0,
  // Two workgroups write the same byte.
  BM_WORKGROUP_OVERLAPS = 1,
  // A workgroup writes another number when it runs alone: it reads what others
  // write.
  BM_WORKGROUP_DEPENDS = 2,
} bm_workgroup_fault_t;

typedef struct bm_workgroup_check_t {
  bm_workgroup_fault_t fault;
  uint32_t first;    // the workgroup that wrote the byte before, if any
  uint32_t second;   // the one at fault
  uint32_t binding;  // of the command
  uint32_t byte;     // in that binding
} bm_workgroup_check_t;

// The bytes of `memory` that bm_workgroup_check needs for command `index`.
size_t bm_workgroup_check_bytes(const bm_plan_t *plan, uint32_t index);

// True for a dispatch of several workgroups that is no linked function.
bool bm_workgroup_check_applies(const bm_plan_t *plan, uint32_t index);

// Checks command `index`, whose inputs are in the arena, and runs it.
// Errors: RESOURCE_EXHAUSTED when `memory` is too small, INTERNAL when a kernel
// fails.
BM_MUST_USE bm_status_t bm_workgroup_check(const bm_plan_runner_t *runner,
                                           uint32_t index, bm_span_t memory,
                                           bm_workgroup_check_t *out);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_WORKGROUP_CHECK_H_

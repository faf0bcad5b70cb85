// Runs one kernel over its workgroups. Inline, because this is the only place
// that spends instructions on every dispatch: saving registers for a call would
// cost as much as the work itself.
#ifndef RUNTIME_BM_EXEC_DISPATCH_H_
#define RUNTIME_BM_EXEC_DISPATCH_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/base/attributes.h"
#include "runtime_bm/exec/environment.h"

// The state that stays the same between dispatches, so that it is written only
// once. Lives on the caller's stack.
typedef struct bm_dispatcher_t {
  bm_abi_dispatch_state_t state;
  bm_abi_workgroup_state_t workgroup;
} bm_dispatcher_t;

// Every dispatch reads its bindings from these two arrays.
static inline void bm_dispatcher_init(bm_dispatcher_t *dispatcher,
                                      void *const *bindings,
                                      const size_t *binding_lengths) {
  const bm_dispatcher_t initial = {
      .state = {.workgroup_size_x = 1,
                .workgroup_size_y = 1,
                .workgroup_size_z = 1,
                .max_concurrency = 1,
                .binding_pointers = bindings,
                .binding_lengths = binding_lengths},
  };
  *dispatcher = initial;
}

// Calls `function` for every workgroup, x innermost. Checks nothing: the plan
// has been verified, and no count is zero. Returns 0, or the result of the
// first workgroup that failed.
BM_MUST_USE static inline int bm_dispatcher_run(bm_dispatcher_t *dispatcher,
                                                const void *function,
                                                const uint32_t *workgroup_count,
                                                uint32_t binding_count,
                                                const uint32_t *constants,
                                                uint32_t constant_count) {
  const bm_abi_dispatch_fn_t kernel = (bm_abi_dispatch_fn_t)(uintptr_t)function;
  const uint32_t count_x = workgroup_count[0];
  const uint32_t count_y = workgroup_count[1];
  const uint32_t count_z = workgroup_count[2];
  bm_abi_dispatch_state_t *state = &dispatcher->state;
  bm_abi_workgroup_state_t *workgroup = &dispatcher->workgroup;
  state->workgroup_count_x = count_x;
  state->workgroup_count_y = count_y;
  state->workgroup_count_z = (uint16_t)count_z;
  state->binding_count = (uint8_t)binding_count;
  state->constants = constants;
  state->constant_count = (uint16_t)constant_count;
  workgroup->id_y = 0;
  workgroup->id_z = 0;
  // y and z share one loop, which nearly always ends after the first row.
  uint64_t rows = (uint64_t)count_y * count_z;
  for (;;) {
    uint32_t x = 0;
    do {
      workgroup->id_x = x;
      const int result = kernel(&bm_exec_environment, state, workgroup);
      if (result != 0) return result;
    } while (++x != count_x);
    if (--rows == 0) return 0;
    if (++workgroup->id_y == state->workgroup_count_y) {
      workgroup->id_y = 0;
      ++workgroup->id_z;
    }
  }
}

#endif  // RUNTIME_BM_EXEC_DISPATCH_H_

// Runs one kernel over its workgroups. Inline for one workgroup, because this
// is the only place that spends instructions on every dispatch: saving
// registers for a call would cost as much as the work itself.
#ifndef RUNTIME_BM_EXEC_DISPATCH_H_
#define RUNTIME_BM_EXEC_DISPATCH_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/base/attributes.h"
#include "runtime_bm/exec/environment.h"

// The state that stays the same between dispatches, so that it is written only
// once. It says that there is one workgroup, which nearly every dispatch has.
// Lives on the caller's stack.
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
                .workgroup_count_x = 1,
                .workgroup_count_y = 1,
                .workgroup_count_z = 1,
                .max_concurrency = 1,
                .binding_pointers = bindings,
                .binding_lengths = binding_lengths},
  };
  *dispatcher = initial;
}

// Calls `kernel` for every workgroup, x innermost, and leaves the dispatcher as
// it was. Returns 0, or the result of the first workgroup that failed.
BM_MUST_USE int bm_dispatcher_run_workgroups(bm_dispatcher_t *dispatcher,
                                             bm_abi_dispatch_fn_t kernel,
                                             const uint32_t *workgroup_count);

// Calls `function` for every workgroup, as bm_dispatcher_run_workgroups does.
// Checks nothing: the plan has been verified, and no count is zero.
BM_MUST_USE static inline int bm_dispatcher_run(bm_dispatcher_t *dispatcher,
                                                const void *function,
                                                const uint32_t *workgroup_count,
                                                uint32_t binding_count,
                                                const uint32_t *constants,
                                                uint32_t constant_count) {
  const bm_abi_dispatch_fn_t kernel = (bm_abi_dispatch_fn_t)(uintptr_t)function;
  dispatcher->state.binding_count = (uint8_t)binding_count;
  dispatcher->state.constants = constants;
  dispatcher->state.constant_count = (uint16_t)constant_count;
  if ((workgroup_count[0] | workgroup_count[1] | workgroup_count[2]) != 1) {
    return bm_dispatcher_run_workgroups(dispatcher, kernel, workgroup_count);
  }
  return kernel(&bm_exec_environment, &dispatcher->state,
                &dispatcher->workgroup);
}

// Calls `function` for workgroups [first, end), x innermost; at least one. For
// several harts, each of which has a dispatcher.
BM_MUST_USE int bm_dispatcher_run_share(
    bm_dispatcher_t *dispatcher, const void *function,
    const uint32_t *workgroup_count, uint32_t first, uint32_t end,
    uint32_t binding_count, const uint32_t *constants, uint32_t constant_count);

#endif  // RUNTIME_BM_EXEC_DISPATCH_H_

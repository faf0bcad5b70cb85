#include "runtime_bm/exec/dispatch.h"

int bm_dispatcher_run_workgroups(bm_dispatcher_t *dispatcher,
                                 bm_abi_dispatch_fn_t kernel,
                                 const uint32_t *workgroup_count) {
  const uint32_t count_x = workgroup_count[0];
  const uint32_t count_y = workgroup_count[1];
  const uint32_t count_z = workgroup_count[2];
  bm_abi_dispatch_state_t *state = &dispatcher->state;
  bm_abi_workgroup_state_t *workgroup = &dispatcher->workgroup;
  state->workgroup_count_x = count_x;
  state->workgroup_count_y = count_y;
  state->workgroup_count_z = (uint16_t)count_z;
  // y and z share one loop, which nearly always ends after the first row.
  uint64_t rows = (uint64_t)count_y * count_z;
  for (;;) {
    uint32_t x = 0;
    do {
      workgroup->id_x = x;
      const int result = kernel(&bm_exec_environment, state, workgroup);
      if (result != 0) return result;
    } while (++x != count_x);
    if (--rows == 0) break;
    if (++workgroup->id_y == state->workgroup_count_y) {
      workgroup->id_y = 0;
      ++workgroup->id_z;
    }
  }
  state->workgroup_count_x = 1;
  state->workgroup_count_y = 1;
  state->workgroup_count_z = 1;
  workgroup->id_x = 0;
  workgroup->id_y = 0;
  workgroup->id_z = 0;
  return 0;
}

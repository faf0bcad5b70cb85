#include "runtime_bm/exec/dispatch.h"

int bm_dispatcher_run_share(bm_dispatcher_t *dispatcher, const void *function,
                            const uint32_t *workgroup_count, uint32_t first,
                            uint32_t end, uint32_t binding_count,
                            const uint32_t *constants,
                            uint32_t constant_count) {
  const bm_abi_dispatch_fn_t kernel = (bm_abi_dispatch_fn_t)(uintptr_t)function;
  const uint32_t count_x = workgroup_count[0];
  const uint32_t count_y = workgroup_count[1];
  bm_abi_dispatch_state_t *state = &dispatcher->state;
  bm_abi_workgroup_state_t *workgroup = &dispatcher->workgroup;
  state->binding_count = (uint8_t)binding_count;
  state->constants = constants;
  state->constant_count = (uint16_t)constant_count;
  state->workgroup_count_x = count_x;
  state->workgroup_count_y = count_y;
  state->workgroup_count_z = (uint16_t)workgroup_count[2];
  workgroup->id_x = first % count_x;
  workgroup->id_y = first / count_x % count_y;
  workgroup->id_z = (uint16_t)(first / count_x / count_y);
  for (; first != end; ++first) {
    const int result = kernel(&bm_exec_environment, state, workgroup);
    if (result != 0) return result;
    if (++workgroup->id_x != count_x) continue;
    workgroup->id_x = 0;
    if (++workgroup->id_y != count_y) continue;
    workgroup->id_y = 0;
    ++workgroup->id_z;
  }
  return 0;
}

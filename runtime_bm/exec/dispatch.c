#include "runtime_bm/exec/dispatch.h"

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/exec/environment.h"

int bm_dispatch_run(const void *function, const bm_dispatch_t *dispatch) {
  const bm_abi_dispatch_fn_t kernel = (bm_abi_dispatch_fn_t)(uintptr_t)function;
  const uint32_t count_x = dispatch->workgroup_count[0];
  const uint32_t count_y = dispatch->workgroup_count[1];
  const uint32_t count_z = dispatch->workgroup_count[2];
  const bm_abi_dispatch_state_t state = {
      .workgroup_size_x = 1,
      .workgroup_size_y = 1,
      .workgroup_size_z = 1,
      .constant_count = dispatch->constant_count,
      .workgroup_count_x = count_x,
      .workgroup_count_y = count_y,
      .workgroup_count_z = (uint16_t)count_z,
      .max_concurrency = 1,
      .binding_count = (uint8_t)dispatch->binding_count,
      .constants = dispatch->constants,
      .binding_pointers = dispatch->bindings,
      .binding_lengths = dispatch->binding_lengths,
  };
  bm_abi_workgroup_state_t workgroup = {0};
  for (uint32_t z = 0; z < count_z; ++z) {
    workgroup.id_z = (uint16_t)z;
    for (uint32_t y = 0; y < count_y; ++y) {
      workgroup.id_y = y;
      for (uint32_t x = 0; x < count_x; ++x) {
        workgroup.id_x = x;
        const int result = kernel(&bm_exec_environment, &state, &workgroup);
        if (result != 0) return result;
      }
    }
  }
  return 0;
}

#include "runtime_bm/testing/share_kernels.h"

#include "runtime_bm/abi/executable_library.h"

static int where(const bm_abi_environment_t *environment,
                 const bm_abi_dispatch_state_t *dispatch,
                 const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  share_seen_t *seen = dispatch->binding_pointers[0];
  seen += (workgroup->id_z * dispatch->workgroup_count_y + workgroup->id_y) *
              dispatch->workgroup_count_x +
          workgroup->id_x;
  ++seen->runs;
  seen->hart = workgroup->processor_id;
  seen->max_concurrency = dispatch->max_concurrency;
  seen->id[0] = workgroup->id_x;
  seen->id[1] = workgroup->id_y;
  seen->id[2] = workgroup->id_z;
  seen->count[0] = dispatch->workgroup_count_x;
  seen->count[1] = dispatch->workgroup_count_y;
  seen->count[2] = dispatch->workgroup_count_z;
  return 0;
}

static int spread(const bm_abi_environment_t *environment,
                  const bm_abi_dispatch_state_t *dispatch,
                  const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  const uint32_t *in = dispatch->binding_pointers[0];
  uint32_t *out = dispatch->binding_pointers[1];
  uint32_t sum = workgroup->id_x;
  for (uint32_t i = 0; i < dispatch->workgroup_count_x; ++i) sum += in[i];
  out[workgroup->id_x] = sum;
  return 0;
}

static int fail(const bm_abi_environment_t *environment,
                const bm_abi_dispatch_state_t *dispatch,
                const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  return workgroup->id_x == dispatch->constants[0];
}

const void *const share_where = (const void *)(uintptr_t)where;
const void *const share_spread = (const void *)(uintptr_t)spread;
const void *const share_fail = (const void *)(uintptr_t)fail;

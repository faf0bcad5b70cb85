// The last workgroup of a kernel executes an illegal instruction: with four
// harts, hart 3. Ends with TRAP, which names it, and exit status 3.
#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/testing/firmwares/fake_firmware.h"

static int broken(const bm_abi_environment_t *environment,
                  const bm_abi_dispatch_state_t *dispatch,
                  const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  if (workgroup->id_x + 1 == dispatch->workgroup_count_x) __builtin_trap();
  return 0;
}

static int idle(const bm_abi_environment_t *environment,
                const bm_abi_dispatch_state_t *dispatch,
                const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  (void)dispatch;
  (void)workgroup;
  return 0;
}

FAKE_KERNELS_FIRMWARE([FAKE_MULTIPLY] = idle, [FAKE_ADD] = broken,
                      [FAKE_IDS] = idle, [FAKE_RETURN] = idle);

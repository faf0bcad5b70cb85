// A kernel executes an illegal instruction. Ends with TRAP, which names the
// kernel, and exit status 3.
#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/testing/firmwares/fake_firmware.h"

static int broken(const bm_abi_environment_t *environment,
                  const bm_abi_dispatch_state_t *dispatch,
                  const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  (void)dispatch;
  (void)workgroup;
  __builtin_trap();
}

FAKE_KERNELS_FIRMWARE(broken, broken, broken, broken);

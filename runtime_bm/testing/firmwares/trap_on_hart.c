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

static const void *query(uint32_t max_version, const void *environment) {
  static const bm_abi_dispatch_fn_t kFunctions[FAKE_EXPORT_COUNT] = {
      [FAKE_MULTIPLY] = idle,
      [FAKE_ADD] = broken,
      [FAKE_IDS] = idle,
      [FAKE_RETURN] = idle};
  static bm_abi_library_t library;
  const bm_abi_library_t *fake = fake_library_query(max_version, environment);
  if (fake == NULL) return NULL;
  library = *fake;
  library.exports.functions = kFunctions;
  return &library;
}

static const bm_plan_executable_t kKernels = {.library_query = query};
static const bm_plan_t kPlan = {.header = &fake_tables.header,
                                .weights = (const uint8_t *)fake_weights,
                                .executables = &kKernels};

FAKE_FIRMWARE(&kPlan, &fake_golden, "any");

// Plans for fit_test.py. Each target defines what is wrong with its plan.
#include "tools/fit/fit.h"

// The second copy's target; the first 64 bytes are its source.
#ifndef TARGET
#define TARGET 128
#endif
#ifndef OUTPUTS
#define OUTPUTS 0
#endif

static const bm_plan_command_t kCommands[] = {
    {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 0},
    {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 2},
};
static const bm_plan_binding_t kBindings[] = {
    {BM_PLAN_REGION_ARENA, 0, 64},
    {BM_PLAN_REGION_ARENA, 64, 64},
    {BM_PLAN_REGION_ARENA, 0, 64},
    {BM_PLAN_REGION_ARENA, TARGET, 64},
};
static const bm_plan_entry_t kEntry = {
    .name = "main", .command_count = 2, .output_count = OUTPUTS};

#ifdef KERNELS
static const bm_plan_export_t kExport = {.name = "other", .binding_count = 3};

// Never called: the check opens the kernels from their ELF.
static const void *query(uint32_t max_version, const void *environment) {
  (void)max_version;
  (void)environment;
  return NULL;
}
#endif

static const bm_plan_t kPlan = {
    .abi_version = BM_PLAN_ABI_VERSION,
    .isa = BM_ISA_X86_64,
    .arena_bytes = 192,
    .name = "plan",
    .commands = kCommands,
    .command_count = 2,
    .bindings = kBindings,
    .binding_count = 4,
    .entries = &kEntry,
    .entry_count = 1,
#ifdef KERNELS
    .library_query = query,
    .exports = &kExport,
    .export_count = 1,
#endif
};
const bm_plan_t *const fit_plan = &kPlan;

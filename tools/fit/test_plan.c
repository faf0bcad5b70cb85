// Plans for fit_test.py. Each target defines what is wrong with its plan.
#include "tools/fit/fit.h"

// The second copy's target; the first 64 bytes are its source.
#ifndef TARGET
#define TARGET 128
#endif
#ifndef OUTPUTS
#define OUTPUTS 0
#endif

#ifdef KERNELS
// Never called: the check opens the kernels from their ELF.
static const void *query(uint32_t max_version, const void *environment) {
  (void)max_version;
  (void)environment;
  return NULL;
}
static const bm_plan_executable_t kExecutable = {.library_query = query};
#define EXPORTS 1
#else
#define EXPORTS 0
#endif

typedef struct tables_t {
  bm_plan_header_t header;
  bm_plan_export_t exports[1];
  bm_plan_command_t commands[2];
  bm_plan_binding_t bindings[4];
  bm_plan_entry_t entries[1];
  char strings[6];
} tables_t;

static const tables_t kTables = {
    .header = {.abi_version = BM_PLAN_ABI_VERSION,
               .bytes = sizeof(tables_t),
               .isa = BM_ISA_X86_64,
               .arena_bytes = 192,
               .executable_count = EXPORTS,
               .exports = {EXPORTS * offsetof(tables_t, exports), EXPORTS},
               .commands = {offsetof(tables_t, commands), 2},
               .bindings = {offsetof(tables_t, bindings), 4},
               .entries = {offsetof(tables_t, entries), 1},
               .strings = {offsetof(tables_t, strings), 6}},
    .exports = {{.binding_count = 3}},
    .commands =
        {
            {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 0},
            {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 2},
        },
    .bindings =
        {
            {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_READ, 0, 0, 64},
            {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 0, 64, 64},
            {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_READ, 0, 0, 64},
            {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 0, TARGET, 64},
        },
    .entries = {{.driver = BM_PLAN_NO_DRIVER,
                 .command_count = 2,
                 .output_count = OUTPUTS}},
    .strings = "other",
};

static const bm_plan_t kPlan = {
    .header = &kTables.header,
#ifdef KERNELS
    .executables = &kExecutable,
#endif
};
const bm_plan_t *const fit_plan = &kPlan;

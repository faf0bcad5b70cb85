// Plans for accept_test.py. Each target defines what is wrong with its plan.
#include "runtime_bm/plan/plan.h"

// The second copy's target; the first 64 bytes are its source.
#ifndef TARGET
#define TARGET 128
#endif
#ifndef SECOND_FLAGS
#define SECOND_FLAGS BM_COMMAND_BARRIER
#endif
#ifndef OUTPUTS
#define OUTPUTS 0
#endif
#ifndef WEIGHTS_BYTES
#define WEIGHTS_BYTES 0
#endif
// Those that there are; the header says 64.
#ifndef CONSTANTS
#define CONSTANTS 64
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
#ifndef STATE_ALIGNMENT
  bm_plan_binding_t bindings[4];
#endif
  bm_plan_entry_t entries[1];
  char strings[6];
} tables_t;

#define ROWS                                                       \
  {                                                                \
      {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_READ, 1, 0, 64},       \
      {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 1, 64, 64},     \
      {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_READ, 1, 0, 64},       \
      {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 1, TARGET, 64}, \
  }

static const tables_t kTables = {
    .header = {.abi_version = BM_PLAN_ABI_VERSION,
               .bytes = sizeof(tables_t),
               .isa = BM_ISA_X86_64,
               .arena_bytes = 192,
               .weights_bytes = WEIGHTS_BYTES,
               .executable_count = EXPORTS,
               .exports = {EXPORTS * offsetof(tables_t, exports), EXPORTS},
               .commands = {offsetof(tables_t, commands), 2},
#ifdef STATE_ALIGNMENT
               .state_bytes = 64,
               .fast_bytes = 64,
               .driver_count = 1,
               .bindings = {0, 4},
               .constants = {0, 64},
#else
               .bindings = {offsetof(tables_t, bindings), 4},
#endif
               .entries = {offsetof(tables_t, entries), 1},
               .strings = {offsetof(tables_t, strings), 6}},
    .exports = {{.binding_count = 3}},
    .commands =
        {
            {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 0},
            {.kind = BM_COMMAND_COPY,
             .flags = SECOND_FLAGS,
             .binding_count = 2,
             .first_binding = 2},
        },
#ifndef STATE_ALIGNMENT
    .bindings = ROWS,
#endif
    .entries = {{.driver = BM_PLAN_NO_DRIVER,
                 .command_count = 2,
                 .output_count = OUTPUTS}},
    .strings = "other",
};

#ifdef STATE_ALIGNMENT
// Everything that a plan can have outside of its tables.
static _Alignas(STATE_ALIGNMENT) uint8_t state[64];
static _Alignas(64) uint8_t fast[64];
static bm_plan_binding_t bindings[4] = ROWS;
static uint32_t constants[CONSTANTS];
static bm_status_t driver(const struct bm_plan_runner_t *runner) {
  (void)runner;
  return bm_ok();
}
static const bm_plan_driver_t kDrivers[] = {driver};
extern const uint8_t weights[];
#endif

extern const bm_plan_t test_plan;
const bm_plan_t test_plan = {
    .header = &kTables.header,
#ifdef KERNELS
    .executables = &kExecutable,
#endif
#ifdef STATE_ALIGNMENT
    .weights = weights,
    .state = state,
    .fast = fast,
    .drivers = kDrivers,
    .bindings = bindings,
    .constants = constants,
#endif
};

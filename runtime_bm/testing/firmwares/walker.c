// Measures the runtime's own cost in retired instructions: per dispatch (three
// bindings, one push constant, one workgroup) and per additional workgroup.
// Passes when a dispatch costs at most 80 and a workgroup at most 10. Only
// meaningful if the emulator counts instructions.
#include <stdbool.h>

#include "runtime_bm/app/console.h"
#include "runtime_bm/plan/plan_run.h"

enum {
  COMMANDS = 64,
  MANY_WORKGROUPS = 101,
  EMPTY_KERNEL_INSTRUCTIONS = 2,
  MAX_PER_DISPATCH = 80,
  MAX_PER_WORKGROUP = 10,
};

static int empty_kernel(const void *environment, const void *dispatch,
                        const void *workgroup) {
  (void)environment;
  (void)dispatch;
  (void)workgroup;
  return 0;
}

static bm_plan_command_t commands[COMMANDS];
static const bm_plan_binding_t kBindings[] = {
    {.region = 0, .length = 64},
    {.region = 1, .length = 64},
    {.region = 0, .length = 64},
};
static const uint32_t kConstants[] = {0};

// Instructions of a run of the first `count` commands.
static uint64_t measure(uint32_t count) {
  static uint8_t arena[64];
  const void *functions[1] = {(const void *)(uintptr_t)empty_kernel};
  // What the walker reads.
  static const bm_plan_header_t kWithoutVectors = {0};
  static const bm_plan_t kPlan = {.header = &kWithoutVectors};
  const bm_plan_runner_t runner = {.plan = &kPlan,
                                   .commands = commands,
                                   .bindings = kBindings,
                                   .constants = kConstants,
                                   .regions = {arena},
                                   .functions = functions};
  const uint64_t start = bm_hal_instret();
  if (bm_plan_run(&runner, 0, count).bits != 0) return UINT64_MAX;
  return bm_hal_instret() - start;
}

int main(void) {
  bm_hal_init();
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    const bm_plan_command_t command = {
        .kind = BM_COMMAND_DISPATCH,
        .binding_count = 3,
        .constant_count = 1,
        .workgroup_count = {1, 1, 1},
    };
    commands[i] = command;
  }
  const uint64_t one = measure(1);
  const uint64_t per_dispatch =
      (measure(COMMANDS) - one) / (COMMANDS - 1) - EMPTY_KERNEL_INSTRUCTIONS;
  commands[0].workgroup_count[0] = MANY_WORKGROUPS;
  const uint64_t per_workgroup =
      (measure(1) - one) / (MANY_WORKGROUPS - 1) - EMPTY_KERNEL_INSTRUCTIONS;

  bm_text_t line;
  bm_text_clear(&line);
  bm_console_field(&line, "walker: instructions per dispatch ", per_dispatch);
  bm_console_field(&line, ", per workgroup ", per_workgroup);
  bm_console_field(&line, ", per run ", one - per_dispatch);
  bm_console_write(&line);
  const bool ok =
      per_dispatch <= MAX_PER_DISPATCH && per_workgroup <= MAX_PER_WORKGROUP;
  bm_console_record(&line, ok ? "PASS cases=1" : "FAIL cases=1 bad=1");
  bm_console_write(&line);
  return ok ? 0 : BM_EXIT_FAIL;
}

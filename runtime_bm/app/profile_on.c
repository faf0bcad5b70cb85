#include "runtime_bm/app/console.h"
#include "runtime_bm/app/profile.h"

// Exports of the largest model that the walker can be measured for.
enum { MAX_EXPORTS = 1024 };

// Instructions of empty_kernel.
enum { EMPTY_KERNEL_INSTRUCTIONS = 2 };

// Prints what the command before cost. The next one starts when the line is
// out, so that printing counts for none.
static void observe(void *context, uint32_t index) {
  uint64_t *start = context;
  const uint64_t instret = bm_hal_instret() - *start;
  bm_text_t line;
  bm_console_record(&line, "DISPATCH");
  bm_console_field(&line, " index=", index);
  bm_console_field(&line, " instret=", instret);
  bm_console_write(&line);
  *start = bm_hal_instret();
}

// A kernel that does nothing and succeeds, in EMPTY_KERNEL_INSTRUCTIONS.
static int empty_kernel(const void *environment, const void *dispatch,
                        const void *workgroup) {
  (void)environment;
  (void)dispatch;
  (void)workgroup;
  return 0;
}

static uint64_t workgroups(const bm_plan_command_t *command) {
  return (uint64_t)command->workgroup_count[0] * command->workgroup_count[1] *
         command->workgroup_count[2];
}

// Walks all dispatches with empty kernels: what is left is the walker.
static uint64_t measure_walker(const bm_plan_runner_t *runner) {
  static const void *functions[MAX_EXPORTS];
  const bm_plan_t *plan = runner->plan;
  if (plan->export_count > MAX_EXPORTS) return BM_PROFILE_UNKNOWN;
  for (uint32_t i = 0; i < plan->export_count; ++i) {
    functions[i] = (const void *)(uintptr_t)empty_kernel;
  }
  bm_plan_runner_t empty = *runner;
  empty.functions = functions;
  empty.observer = NULL;

  const uint64_t read_start = bm_hal_instret();
  const uint64_t read_cost = bm_hal_instret() - read_start;
  uint64_t instructions = 0;
  uint64_t dispatches = 0;
  for (uint32_t i = 0; i < plan->command_count;) {
    // Consecutive dispatches in one call, as in a real run.
    uint32_t count = 0;
    uint64_t empty_instructions = 0;
    while (i + count < plan->command_count &&
           plan->commands[i + count].kind == BM_COMMAND_DISPATCH) {
      empty_instructions +=
          workgroups(&plan->commands[i + count]) * EMPTY_KERNEL_INSTRUCTIONS;
      ++count;
    }
    if (count == 0) {
      ++i;
      continue;
    }
    const uint64_t start = bm_hal_instret();
    if (bm_plan_run(&empty, i, count).bits != 0) return BM_PROFILE_UNKNOWN;
    instructions += bm_hal_instret() - start - read_cost - empty_instructions;
    dispatches += count;
    i += count;
  }
  return dispatches == 0 ? BM_PROFILE_UNKNOWN : instructions / dispatches;
}

uint64_t bm_profile(const bm_model_t *model) {
  uint64_t start;
  bm_model_t profiled = *model;
  bm_model_observe(&profiled, observe, &start);
  start = bm_hal_instret();
  if (bm_model_run(&profiled).bits != 0) return BM_PROFILE_UNKNOWN;
  return measure_walker(&model->runner);
}

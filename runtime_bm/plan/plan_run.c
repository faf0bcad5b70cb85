#include "runtime_bm/plan/plan_run.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/exec/dispatch.h"

#define BM_FILE BM_FILE_PLAN_RUN

static void fill(uint8_t *target, uint32_t length, uint32_t pattern,
                 uint32_t pattern_bytes) {
  // One byte repeated is what memset is fast at, and zero is the usual fill.
  if (pattern_bytes == 1 || pattern == 0) {
    memset(target, (int)(pattern & 0xFF), length);
    return;
  }
  for (uint32_t i = 0; i < length; i += pattern_bytes) {
    memcpy(target + i, &pattern, pattern_bytes);
  }
}

bm_status_t bm_plan_run(const bm_plan_runner_t *runner, uint32_t first,
                        uint32_t count) {
  const bm_plan_t *plan = runner->plan;
  // Weights are only ever bound for reading: kernels take one kind of pointer.
  uint8_t *const regions[2] = {runner->arena, (uint8_t *)plan->weights};
  const bm_plan_command_t *const end = plan->commands + first + count;
  for (const bm_plan_command_t *command = plan->commands + first;
       command != end; ++command) {
    void *pointers[BM_PLAN_MAX_BINDINGS];
    size_t lengths[BM_PLAN_MAX_BINDINGS];
    const bm_plan_binding_t *bindings = plan->bindings + command->first_binding;
    const uint32_t *constants = &plan->constants[command->first_constant];
    for (uint32_t i = 0; i < command->binding_count; ++i) {
      pointers[i] = regions[bindings[i].region] + bindings[i].offset;
      lengths[i] = bindings[i].length;
    }
    if (command->kind == BM_COMMAND_DISPATCH) {
      const bm_dispatch_t dispatch = {
          .workgroup_count = command->workgroup_count,
          .constants = constants,
          .bindings = pointers,
          .binding_lengths = lengths,
          .constant_count = command->constant_count,
          .binding_count = command->binding_count,
      };
      BM_CHECK(
          bm_dispatch_run(runner->functions[command->ordinal], &dispatch) == 0,
          INTERNAL);
    } else if (command->kind == BM_COMMAND_FILL) {
      fill(pointers[0], (uint32_t)lengths[0], constants[0], constants[1]);
    } else {
      memcpy(pointers[1], pointers[0], lengths[0]);
    }
    if (runner->observer != NULL) {
      runner->observer(runner->observer_context,
                       (uint32_t)(command - plan->commands));
    }
  }
  return bm_ok();
}

// The walk of one hart; plan_share.c is that of several.
#include "runtime_bm/plan/plan_run.h"

#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/plan/plan_step.h"

#define BM_FILE BM_FILE_PLAN_RUN

bm_status_t bm_plan_run(const bm_plan_runner_t *runner, uint32_t first,
                        uint32_t count) {
  bm_bound_t bound;
  bm_dispatcher_t dispatcher;
  bm_dispatcher_init(&dispatcher, bound.pointers, bound.lengths);
  // Read once: a kernel might change them, as far as the compiler knows.
  const bm_plan_binding_t *const bindings = runner->bindings;
  const uint32_t *const constants = runner->constants;
  const void *const *const functions = runner->functions;
  const bm_plan_command_t *command = runner->commands + first;
  const uint32_t end = first + count;
  for (uint32_t index = first; index != end; ++index, ++command) {
    BM_DEBUG_PLACE(bm_plan_before_command);
    bm_step_bind(runner, command, bindings + command->first_binding, &bound);
    if (command->kind == BM_COMMAND_DISPATCH) {
      BM_CHECK(
          bm_dispatcher_run(&dispatcher, functions[command->export_index],
                            command->workgroup_count, command->binding_count,
                            constants + command->first_constant,
                            command->constant_count) == 0,
          INTERNAL);
    } else {
      bm_step_transfer(runner, command, &bound);
    }
    BM_DEBUG_PLACE(bm_plan_after_command);
    if (runner->observer != NULL) {
      runner->observer(runner->observer_context, index);
    }
  }
  return bm_ok();
}

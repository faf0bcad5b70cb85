#include "runtime_bm/plan/plan_run.h"

#include <stdbool.h>

#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/plan/plan_transfer.h"

#define BM_FILE BM_FILE_PLAN_RUN

bm_status_t bm_plan_run(const bm_plan_runner_t *runner, uint32_t first,
                        uint32_t count) {
  // Adjacent, so that one index register serves both.
  struct {
    void *pointers[BM_PLAN_MAX_BINDINGS];
    size_t lengths[BM_PLAN_MAX_BINDINGS];
  } bound;
  // bm_plan_check_cpu has seen that the hart has them.
  const bool vectors = runner->plan->header->vlen_bits != 0;
  bm_dispatcher_t dispatcher;
  bm_dispatcher_init(&dispatcher, bound.pointers, bound.lengths);
  const bm_plan_command_t *command = runner->commands + first;
  const uint32_t end = first + count;
  for (uint32_t index = first; index != end; ++index, ++command) {
    BM_DEBUG_PLACE(bm_plan_before_command);
    const bm_plan_binding_t *binding =
        runner->bindings + command->first_binding;
    const uint32_t *constants = runner->constants + command->first_constant;
    for (uint32_t i = 0; i < command->binding_count; ++i, ++binding) {
      bound.pointers[i] = runner->regions[binding->region] + binding->offset;
      bound.lengths[i] = binding->length;
    }
    // The binding and constant counts of FILL and COPY have been verified.
    // NOLINTBEGIN(clang-analyzer-core.*)
    if (command->kind == BM_COMMAND_DISPATCH) {
      BM_CHECK(bm_dispatcher_run(
                   &dispatcher, runner->functions[command->export_index],
                   command->workgroup_count, command->binding_count, constants,
                   command->constant_count) == 0,
               INTERNAL);
    } else if (command->kind == BM_COMMAND_FILL) {
      bm_plan_fill(bound.pointers[0], bound.lengths[0], constants[0],
                   constants[1], vectors);
    } else {
      bm_plan_copy(bound.pointers[1], bound.pointers[0], bound.lengths[0],
                   vectors);
    }
    // NOLINTEND(clang-analyzer-core.*)
    BM_DEBUG_PLACE(bm_plan_after_command);
    if (runner->observer != NULL) {
      runner->observer(runner->observer_context, index);
    }
  }
  return bm_ok();
}

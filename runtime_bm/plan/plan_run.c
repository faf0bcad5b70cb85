#include "runtime_bm/plan/plan_run.h"

#include <stdbool.h>

#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/plan/plan_transfer.h"

#define BM_FILE BM_FILE_PLAN_RUN

// The bindings of one command, as kernels take them. Adjacent, so that one
// address serves both.
typedef struct bound_t {
  void *pointers[BM_PLAN_MAX_BINDINGS];
  size_t lengths[BM_PLAN_MAX_BINDINGS];
} bound_t;

BM_INLINE void bind(const bm_plan_runner_t *runner,
                    const bm_plan_binding_t *binding, void **out_pointer,
                    size_t *out_length) {
  *out_pointer = runner->regions[binding->region] + binding->offset;
  *out_length = binding->length;
}

// Out of the way of dispatches, which are nearly all that a plan has. The
// binding and constant counts of FILL and COPY have been verified.
static BM_NOINLINE void transfer(const bm_plan_runner_t *runner,
                                 const bm_plan_command_t *command,
                                 const bound_t *bound) {
  // bm_plan_check_cpu has seen that the hart has them.
  const bool vectors = runner->plan->header->vlen_bits != 0;
  // NOLINTBEGIN(clang-analyzer-core.*)
  if (command->kind == BM_COMMAND_FILL) {
    const uint32_t *constants = runner->constants + command->first_constant;
    bm_plan_fill(bound->pointers[0], bound->lengths[0], constants[0],
                 constants[1], vectors);
  } else {
    bm_plan_copy(bound->pointers[1], bound->pointers[0], bound->lengths[0],
                 vectors);
  }
  // NOLINTEND(clang-analyzer-core.*)
}

bm_status_t bm_plan_run(const bm_plan_runner_t *runner, uint32_t first,
                        uint32_t count) {
  bound_t bound;
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
    const bm_plan_binding_t *binding = bindings + command->first_binding;
    void **pointer = bound.pointers;
    size_t *length = bound.lengths;
    // Two at a time, because counting takes half as long as binding.
    uint32_t left = command->binding_count;
    for (; left > 1; left -= 2) {
      bind(runner, binding, pointer, length);
      bind(runner, binding + 1, pointer + 1, length + 1);
      binding += 2;
      pointer += 2;
      length += 2;
    }
    if (left != 0) bind(runner, binding, pointer, length);
    if (command->kind == BM_COMMAND_DISPATCH) {
      BM_CHECK(
          bm_dispatcher_run(&dispatcher, functions[command->export_index],
                            command->workgroup_count, command->binding_count,
                            constants + command->first_constant,
                            command->constant_count) == 0,
          INTERNAL);
    } else {
      transfer(runner, command, &bound);
    }
    BM_DEBUG_PLACE(bm_plan_after_command);
    if (runner->observer != NULL) {
      runner->observer(runner->observer_context, index);
    }
  }
  return bm_ok();
}

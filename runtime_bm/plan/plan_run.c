#include "runtime_bm/plan/plan_run.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/exec/dispatch.h"

#define BM_FILE BM_FILE_PLAN_RUN

// May alias anything: the arena holds elements of every type.
typedef uint16_t __attribute__((may_alias)) half_t;
typedef uint32_t __attribute__((may_alias)) word_t;

// `target` and `length` are multiples of `pattern_bytes`.
static void fill(void *target, size_t length, uint32_t pattern,
                 uint32_t pattern_bytes) {
  if (pattern_bytes == 1) {
    memset(target, (int)(pattern & 0xFF), length);
  } else if (pattern_bytes == 2) {
    half_t *halves = target;
    for (size_t i = 0; i < length / 2; ++i) halves[i] = (uint16_t)pattern;
  } else {
    word_t *words = target;
    for (size_t i = 0; i < length / 4; ++i) words[i] = pattern;
  }
}

bm_status_t bm_plan_run(const bm_plan_runner_t *runner, uint32_t first,
                        uint32_t count) {
  // Adjacent, so that one index register serves both.
  struct {
    void *pointers[BM_PLAN_MAX_BINDINGS];
    size_t lengths[BM_PLAN_MAX_BINDINGS];
  } bound;
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
      fill(bound.pointers[0], bound.lengths[0], constants[0], constants[1]);
    } else {
      memcpy(bound.pointers[1], bound.pointers[0], bound.lengths[0]);
    }
    // NOLINTEND(clang-analyzer-core.*)
    BM_DEBUG_PLACE(bm_plan_after_command);
    if (runner->observer != NULL) {
      runner->observer(runner->observer_context, index);
    }
  }
  return bm_ok();
}

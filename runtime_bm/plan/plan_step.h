// What one hart and several do alike with a command of a plan.
#ifndef RUNTIME_BM_PLAN_PLAN_STEP_H_
#define RUNTIME_BM_PLAN_PLAN_STEP_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/plan/plan_run.h"
#include "runtime_bm/plan/plan_transfer.h"

// The bindings of one command, as kernels take them. Adjacent, so that one
// address serves both.
typedef struct bm_bound_t {
  void *pointers[BM_PLAN_MAX_BINDINGS];
  size_t lengths[BM_PLAN_MAX_BINDINGS];
} bm_bound_t;

BM_INLINE void bm_step_bind_one(const bm_plan_runner_t *runner,
                                const bm_plan_binding_t *binding,
                                void **out_pointer, size_t *out_length) {
  *out_pointer = runner->regions[binding->region] + binding->offset;
  *out_length = binding->length;
}

// Finds the bindings of a command; `binding` is its first one.
BM_INLINE void bm_step_bind(const bm_plan_runner_t *runner,
                            const bm_plan_command_t *command,
                            const bm_plan_binding_t *binding,
                            bm_bound_t *out_bound) {
  void **pointer = out_bound->pointers;
  size_t *length = out_bound->lengths;
  // Two at a time, because counting takes half as long as binding.
  uint32_t left = command->binding_count;
  for (; left > 1; left -= 2) {
    bm_step_bind_one(runner, binding, pointer, length);
    bm_step_bind_one(runner, binding + 1, pointer + 1, length + 1);
    binding += 2;
    pointer += 2;
    length += 2;
  }
  if (left != 0) bm_step_bind_one(runner, binding, pointer, length);
}

// Does a FILL or COPY. Out of the way of dispatches, which are nearly all that
// a plan has. The binding and constant counts have been verified.
static BM_NOINLINE void bm_step_transfer(const bm_plan_runner_t *runner,
                                         const bm_plan_command_t *command,
                                         const bm_bound_t *bound) {
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

#endif  // RUNTIME_BM_PLAN_PLAN_STEP_H_

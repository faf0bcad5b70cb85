// The walk of several harts. Each walks all commands and does its part of them;
// before a command with a barrier, and at the end, all meet.
#include <stdatomic.h>
#include <stdbool.h>

#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/plan/plan_run.h"
#include "runtime_bm/plan/plan_step.h"

#define BM_FILE BM_FILE_PLAN_SHARE

enum {
  // A shorter FILL or COPY is one hart's. Longer ones are cut at multiples of
  // CUT bytes, so that harts seldom write to the same cache line.
  MIN_SHARED_BYTES = 1024,
  CUT = 64,
};

typedef struct share_t {
  const bm_plan_runner_t *runner;
  uint32_t first;
  uint32_t end;
  // The stretch between barriers, from 1, in which a kernel failed; 0: none
  // has. All harts stop at its end, for only there do all know of it.
  atomic_uint failed;
} share_t;

// One hart on its way.
typedef struct walk_t {
  share_t *share;
  uint32_t hart;
  uint32_t stretch;
  // Commands of this stretch that one hart does, so far.
  uint32_t alone;
  bm_bound_t bound;
  bm_dispatcher_t dispatcher;
} walk_t;

static void tell(const bm_plan_runner_t *runner, bm_hart_event_t event,
                 uint32_t hart, uint32_t index) {
  if (runner->hart_observer != NULL) {
    runner->hart_observer(runner->hart_observer_context, event, hart, index);
  }
}

static void all_have_met(void *context) {
  const walk_t *walk = context;
  tell(walk->share->runner, BM_HARTS_MET, walk->hart, 0);
}

static bool is_observed(const walk_t *walk) {
  return walk->share->runner->hart_observer != NULL;
}

// Returns false if a kernel failed before.
static bool meet(walk_t *walk, uint32_t index) {
  const bm_plan_runner_t *runner = walk->share->runner;
  tell(runner, BM_HART_ARRIVES, walk->hart, index);
  bm_harts_meet(is_observed(walk) ? all_have_met : NULL, walk);
  tell(runner, BM_HART_LEAVES, walk->hart, index);
  const uint32_t failed =
      atomic_load_explicit(&walk->share->failed, memory_order_relaxed);
  if (failed == walk->stretch) return false;
  ++walk->stretch;
  walk->alone = 0;
  return true;
}

// True if this hart does the next command that is not shared.
static bool is_mine(walk_t *walk) {
  return walk->alone++ % bm_hart_count == walk->hart;
}

// Returns how much of `total` the harts before number `hart` do.
static uint32_t before(uint32_t total, uint32_t hart) {
  return (uint32_t)((uint64_t)total * hart / bm_hart_count);
}

static void bind(walk_t *walk, const bm_plan_command_t *command) {
  const bm_plan_runner_t *runner = walk->share->runner;
  bm_step_bind(runner, command, runner->bindings + command->first_binding,
               &walk->bound);
}

// Does this hart's part of a FILL or COPY.
static void transfer(walk_t *walk, const bm_plan_command_t *command) {
  const bm_plan_runner_t *runner = walk->share->runner;
  bm_bound_t *bound = &walk->bound;
  const uint32_t length = runner->bindings[command->first_binding].length;
  uint32_t first = 0;
  uint32_t end = length;
  if (length >= MIN_SHARED_BYTES) {
    first = before(length / CUT, walk->hart) * CUT;
    if (walk->hart + 1 != bm_hart_count) {
      end = before(length / CUT, walk->hart + 1) * CUT;
    }
  } else if (!is_mine(walk)) {
    return;
  }
  bind(walk, command);
  for (uint32_t i = 0; i < command->binding_count; ++i) {
    bound->pointers[i] = (uint8_t *)bound->pointers[i] + first;
    bound->lengths[i] = end - first;
  }
  bm_step_transfer(runner, command, bound);
}

// Does this hart's part of a dispatch. Returns what its kernel does.
static int dispatch(walk_t *walk, const bm_plan_command_t *command) {
  const bm_plan_runner_t *runner = walk->share->runner;
  // bm_plan_verify_order has seen that it fits.
  const uint32_t count = command->workgroup_count[0] *
                         command->workgroup_count[1] *
                         command->workgroup_count[2];
  uint32_t first = 0;
  uint32_t end = count;
  // Linked functions may keep things to themselves, a device for example.
  if (bm_plan_exports(runner->plan)[command->export_index].executable ==
      BM_PLAN_LINKED) {
    if (walk->hart != 0) return 0;
  } else if (count == 1) {
    if (!is_mine(walk)) return 0;
  } else {
    first = before(count, walk->hart);
    end = before(count, walk->hart + 1);
    if (first == end) return 0;
  }
  bind(walk, command);
  return bm_dispatcher_run_share(
      &walk->dispatcher, runner->functions[command->export_index],
      command->workgroup_count, first, end, command->binding_count,
      runner->constants + command->first_constant, command->constant_count);
}

static bool step(walk_t *walk, uint32_t index) {
  const bm_plan_runner_t *runner = walk->share->runner;
  const bm_plan_command_t *command = runner->commands + index;
  bm_hart_commands[walk->hart] = index;
  int result = 0;
  if (command->kind == BM_COMMAND_DISPATCH) {
    result = dispatch(walk, command);
  } else {
    transfer(walk, command);
  }
  tell(runner, BM_HART_ENDS, walk->hart, index);
  return result == 0;
}

static void walk_share(void *context, uint32_t hart) {
  share_t *share = context;
  const bm_plan_runner_t *runner = share->runner;
  // Not cleared as a whole, for most of it are bindings.
  walk_t walk;
  walk.share = share;
  walk.hart = hart;
  walk.stretch = 1;
  walk.alone = 0;
  bm_dispatcher_init(&walk.dispatcher, walk.bound.pointers, walk.bound.lengths);
  walk.dispatcher.state.max_concurrency = bm_hart_count;
  walk.dispatcher.workgroup.processor_id = hart;
  // The meetings before and after the walk belong to bm_harts_run; an observer
  // sees these in their place.
  if (is_observed(&walk)) (void)meet(&walk, share->first);
  bool ok = true;
  for (uint32_t index = share->first; index != share->end; ++index) {
    if ((runner->commands[index].flags & BM_COMMAND_BARRIER) != 0 &&
        index != share->first) {
      if (!meet(&walk, index)) return;
    }
    BM_DEBUG_PLACE(bm_plan_before_command);
    // After a failure this hart only goes to the next meeting.
    if (!ok) continue;
    ok = step(&walk, index);
    if (!ok) {
      atomic_store_explicit(&share->failed, walk.stretch, memory_order_relaxed);
      continue;
    }
    BM_DEBUG_PLACE(bm_plan_after_command);
    if (hart == 0 && runner->observer != NULL) {
      runner->observer(runner->observer_context, index);
    }
  }
  if (is_observed(&walk)) (void)meet(&walk, share->end);
}

bm_status_t bm_plan_run(const bm_plan_runner_t *runner, uint32_t first,
                        uint32_t count) {
  share_t share = {.runner = runner, .first = first, .end = first + count};
  BM_TRY(bm_harts_run(walk_share, &share));
  BM_CHECK(atomic_load(&share.failed) == 0, INTERNAL);
  return bm_ok();
}

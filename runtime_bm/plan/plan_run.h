// Walks a plan that bm_plan_verify has accepted.
#ifndef RUNTIME_BM_PLAN_PLAN_RUN_H_
#define RUNTIME_BM_PLAN_PLAN_RUN_H_

#include <stdint.h>

#include "runtime_bm/base/status.h"
#include "runtime_bm/plan/plan.h"

BM_EXTERN_C_BEGIN

// What an image for several harts tells about each of them.
typedef enum bm_hart_event_t {
  BM_HART_ENDS,     // its part of a command
  BM_HART_ARRIVES,  // at a barrier, or where a run begins or ends
  BM_HARTS_MET,     // there; it is the last one, and all others wait for it
  BM_HART_LEAVES,
} bm_hart_event_t;

typedef void (*bm_hart_observer_t)(void *context, bm_hart_event_t event,
                                   uint32_t hart, uint32_t index);

typedef struct bm_plan_runner_t {
  const bm_plan_t *plan;
  // The plan's tables, so that the walker need not find them again.
  const bm_plan_command_t *commands;
  const bm_plan_binding_t *bindings;
  const uint32_t *constants;
  // The start of each region. Weights are only bound for reading, but kernels
  // take just one kind of pointer.
  uint8_t *regions[BM_PLAN_REGION_COUNT];
  const void *const *functions;  // bm_executable_functions
  // Called after every command with its index, by hart 0; may be NULL.
  void (*observer)(void *context, uint32_t index);
  void *observer_context;
#ifdef BM_SEVERAL_HARTS
  // Called by every hart, with the index of the command; may be NULL.
  bm_hart_observer_t hart_observer;
  void *hart_observer_context;
#endif
} bm_plan_runner_t;

// Returns a runner of a verified plan, without observer.
static inline bm_plan_runner_t bm_plan_runner_of(const bm_plan_t *plan,
                                                 uint8_t *arena,
                                                 const void *const *functions) {
  bm_plan_runner_t runner;
  runner.plan = plan;
  runner.commands = bm_plan_commands(plan);
  runner.bindings = bm_plan_bindings(plan);
  runner.constants = bm_plan_constants(plan);
  runner.regions[BM_PLAN_REGION_ARENA] = arena;
  runner.regions[BM_PLAN_REGION_WEIGHTS] = (uint8_t *)(uintptr_t)plan->weights;
  runner.regions[BM_PLAN_REGION_STATE] = plan->state;
  runner.regions[BM_PLAN_REGION_FAST] = plan->fast;
  runner.functions = functions;
  runner.observer = NULL;
  runner.observer_context = NULL;
#ifdef BM_SEVERAL_HARTS
  runner.hart_observer = NULL;
  runner.hart_observer_context = NULL;
#endif
  return runner;
}

// Runs commands [first, first + count) in order, or, on several harts, as the
// plan's barriers say. Checks only what kernels return. Error: INTERNAL when a
// kernel fails; nothing after it, or after the next barrier, runs.
BM_MUST_USE bm_status_t bm_plan_run(const bm_plan_runner_t *runner,
                                    uint32_t first, uint32_t count);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_PLAN_PLAN_RUN_H_

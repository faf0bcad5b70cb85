#include <stdbool.h>

#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/app/profile.h"
#include "runtime_bm/crt/trap.h"

// The most exports a model may have for the walker to be measured.
enum { MAX_EXPORTS = 1024 };

// The number of instructions in empty_kernel.
enum { EMPTY_KERNEL_INSTRUCTIONS = 2 };

typedef struct counts_t {
  uint64_t instret;
  uint64_t cycles;
} counts_t;

// The profiled run. `end` and `start` are the counts that observe() read when
// it began and when it returned; nothing between them counts.
typedef struct observation_t {
  bm_observer_t observer;  // the model's own
  void *context;           // of `observer`
  bool quiet;
  uint32_t calls;
  counts_t between;  // from `end` to `start`, in all calls but the last
  counts_t end;
  counts_t start;
  const bm_plan_t *plan;
  bm_device_use_t use;  // of all devices, when `start` was read
} observation_t;

static observation_t observation;

// Instructions are counted without those that read cycles: `end` is read first
// of them, `start` last.
static inline counts_t read_end(void) {
  counts_t now;
  now.instret = bm_hal_instret();
  now.cycles = bm_hal_cycles();
  return now;
}

static inline counts_t read_start(void) {
  counts_t now;
  now.cycles = bm_hal_cycles();
  now.instret = bm_hal_instret();
  return now;
}

static bm_device_use_t device_use(void) {
  bm_device_use_t sum = {0, 0};
  for (const bm_device_use_function_t *each = bm_firmware_devices;
       *each != NULL; ++each) {
    const bm_device_use_t use = (*each)();
    sum.busy += use.busy;
    sum.waited += use.waited;
  }
  return sum;
}

// Prints the cost of the previous command, for the hart and, once they have
// done it, for devices. A failure of theirs comes again in the run that counts.
static BM_NOINLINE void observe_apart(void *context, uint32_t index) {
  observation_t *self = context;
  const counts_t end = read_end();
  const uint64_t waited = device_use().waited - self->use.waited;
  if (self->plan->wait != NULL) (void)self->plan->wait();
  const bm_device_use_t use = device_use();
  bm_text_t line;
  bm_console_record(&line, "DISPATCH");
  bm_console_field(&line, " index=", index);
  bm_console_field(&line,
                   " instret=", end.instret - self->start.instret - waited);
  bm_console_field(&line, " cycles=", end.cycles - self->start.cycles);
  bm_console_field(&line, " busy=", use.busy - self->use.busy);
  bm_console_field(&line, " waited=", use.waited - self->use.waited);
  bm_console_write(&line);
  self->observer(self->context, index);
  self->use = use;
  self->start = read_start();
}

// Prints the cost of the previous command.
static BM_NOINLINE void observe(void *context, uint32_t index) {
  observation_t *self = context;
  const counts_t end = read_end();
  if (!self->quiet) {
    bm_text_t line;
    bm_console_record(&line, "DISPATCH");
    bm_console_field(&line, " index=", index);
    bm_console_field(&line, " instret=", end.instret - self->start.instret);
    bm_console_field(&line, " cycles=", end.cycles - self->start.cycles);
    bm_console_write(&line);
  }
  self->observer(self->context, index);
  self->between.instret += self->start.instret - self->end.instret;
  self->between.cycles += self->start.cycles - self->end.cycles;
  self->end = end;
  ++self->calls;
  self->start = read_start();
}

static BM_NOINLINE uint64_t cost_of(bm_observer_t observer, void *context) {
  const uint64_t start = bm_hal_instret();
  observer(context, 0);
  return bm_hal_instret() - start;
}

// The instructions of one observe() call that lie outside `end` to `start`,
// less those of the model's own observer.
static uint64_t cost_of_observing(void) {
  observation_t alone = observation;
  alone.quiet = true;
  const uint64_t observed = cost_of(observe, &alone);
  return observed - (alone.start.instret - alone.end.instret) -
         cost_of(alone.observer, alone.context);
}

// A kernel that does nothing and succeeds in EMPTY_KERNEL_INSTRUCTIONS.
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

// Instructions of commands [first, first + count), minus the empty kernels.
// Returns false when they fail.
static bool count_walk(const bm_plan_runner_t *empty, uint32_t first,
                       uint32_t count, uint64_t *out) {
  uint64_t calls = 0;
  for (uint32_t i = first; i < first + count; ++i) {
    calls += workgroups(&empty->commands[i]);
  }
  const uint64_t read = bm_hal_instret();
  const uint64_t start = bm_hal_instret();
  const bm_status_t status = bm_plan_run(empty, first, count);
  const uint64_t end = bm_hal_instret();
  // The second reading costs as much as the first.
  *out = end - start - (start - read) - calls * EMPTY_KERNEL_INSTRUCTIONS;
  return status.bits == 0;
}

// The cost of another workgroup: `dispatch` with two workgroups and with three.
// A dispatch of one takes another way.
static bool count_workgroup(const bm_plan_runner_t *empty,
                            const bm_plan_command_t *dispatch, uint64_t *out) {
  bm_plan_command_t command = *dispatch;
  bm_plan_runner_t runner = *empty;
  uint64_t two;
  uint64_t three;
  runner.commands = &command;
  command.workgroup_count[0] = 2;
  command.workgroup_count[1] = 1;
  command.workgroup_count[2] = 1;
  if (!count_walk(&runner, 0, 1, &two)) return false;
  command.workgroup_count[0] = 3;
  if (!count_walk(&runner, 0, 1, &three)) return false;
  *out = three - two;
  return true;
}

// Walks all dispatches with empty kernels: only the walker's cost is left.
static bm_profile_t measure_walker(const bm_plan_runner_t *runner) {
  static const void *functions[MAX_EXPORTS];
  bm_profile_t profile = {0, 0, BM_PROFILE_UNKNOWN, BM_PROFILE_UNKNOWN};
  const bm_plan_t *plan = runner->plan;
  const bm_plan_command_t *commands = runner->commands;
  const uint32_t command_count = plan->header->commands.count;
  if (plan->header->exports.count > MAX_EXPORTS) return profile;
  for (uint32_t i = 0; i < plan->header->exports.count; ++i) {
    functions[i] = (const void *)(uintptr_t)empty_kernel;
  }
  bm_plan_runner_t empty = *runner;
  empty.functions = functions;
  empty.observer = NULL;

  uint64_t instructions = 0;
  uint64_t dispatches = 0;
  uint64_t calls = 0;
  uint64_t workgroup = 0;
  for (uint32_t i = 0; i < command_count;) {
    // Consecutive dispatches in one call, as in a real run.
    uint32_t count = 0;
    uint64_t walked = 0;
    for (; i + count < command_count &&
           commands[i + count].kind == BM_COMMAND_DISPATCH;
         ++count) {
      calls += workgroups(&commands[i + count]);
    }
    if (count != 0) {
      if (!count_walk(&empty, i, count, &walked)) return profile;
      if (!count_workgroup(&empty, &commands[i], &workgroup)) {
        return profile;
      }
    }
    instructions += walked;
    dispatches += count;
    i += count + 1;
  }
  if (dispatches == 0) return profile;
  profile.walker =
      (instructions - (calls - dispatches) * workgroup) / dispatches;
  profile.workgroup = workgroup;
  return profile;
}

static void observe_next_run(bm_model_t *model,
                             void (*observer)(void *context, uint32_t index)) {
  observation = (observation_t){.observer = model->runner.observer,
                                .context = model->runner.observer_context,
                                .plan = model->runner.plan,
                                .use = device_use()};
  bm_model_observe(model, observer, &observation);
  observation.end = read_start();
  observation.start = observation.end;
}

bool bm_profile_is_apart(void) { return bm_firmware_devices[0] != NULL; }

void bm_profile_begin_apart(bm_model_t *model) {
  observe_next_run(model, observe_apart);
}

void bm_profile_begin(bm_model_t *model) {
  if (bm_profile_is_apart()) {
    observation.use = device_use();
  } else {
    observe_next_run(model, observe);
  }
}

static BM_NOINLINE void report_devices(void) {
  const bm_device_use_t use = device_use();
  bm_text_t line;
  bm_console_record(&line, "DEVICE");
  bm_console_field(&line, " busy=", use.busy - observation.use.busy);
  bm_console_field(&line, " waited=", use.waited - observation.use.waited);
  bm_console_write(&line);
}

bm_profile_t bm_profile_end(const bm_model_t *model) {
  if (bm_profile_is_apart()) {
    report_devices();
    return measure_walker(&model->runner);
  }
  const counts_t last = {observation.start.instret - observation.end.instret,
                         observation.start.cycles - observation.end.cycles};
  bm_profile_t profile = measure_walker(&model->runner);
  profile.observing = observation.between.instret + last.instret +
                      observation.calls * cost_of_observing();
  profile.observing_cycles = observation.between.cycles + last.cycles;
  return profile;
}

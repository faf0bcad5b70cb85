#include "runtime_bm/app/workgroup_check.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/exec/dispatch.h"

#define BM_FILE BM_FILE_WORKGROUP_CHECK

// What a workgroup does not write keeps one of these. Whatever it does write
// differs from at least one.
static const uint8_t kPoisons[] = {0xA5, 0x5A};
enum { POISONS = sizeof(kPoisons) };

// Copies of what a command writes, one for each binding that it writes.
typedef struct copy_t {
  uint32_t binding;  // of the command
  uint32_t length;
  uint8_t *memory;
  bool is_read;
  uint8_t *before;  // as it was
  uint8_t *after;   // as the command leaves it
  uint8_t *owners;  // the workgroup that wrote each byte, plus 1; 0: none
} copy_t;

typedef struct work_t {
  const bm_plan_runner_t *runner;
  const bm_plan_command_t *command;
  void *pointers[BM_PLAN_MAX_BINDINGS];
  size_t lengths[BM_PLAN_MAX_BINDINGS];
  copy_t copies[BM_PLAN_MAX_BINDINGS];
  uint32_t copy_count;
  bm_workgroup_check_t *out;
} work_t;

static const bm_plan_binding_t *row(const bm_plan_runner_t *runner,
                                    uint32_t index, uint32_t binding) {
  return &runner->bindings[runner->commands[index].first_binding + binding];
}

static uint32_t workgroups_of(const bm_plan_command_t *command) {
  return command->workgroup_count[0] * command->workgroup_count[1] *
         command->workgroup_count[2];
}

bool bm_workgroup_check_applies(const bm_plan_t *plan, uint32_t index) {
  const bm_plan_command_t *command = &bm_plan_commands(plan)[index];
  return command->kind == BM_COMMAND_DISPATCH && workgroups_of(command) > 1 &&
         bm_plan_exports(plan)[command->export_index].executable !=
             BM_PLAN_LINKED;
}

size_t bm_workgroup_check_bytes(const bm_plan_t *plan, uint32_t index) {
  const bm_plan_command_t *command = &bm_plan_commands(plan)[index];
  const bm_plan_binding_t *rows =
      bm_plan_bindings(plan) + command->first_binding;
  size_t written = 0;
  for (uint32_t i = 0; i < command->binding_count; ++i) {
    if ((rows[i].access & BM_PLAN_ACCESS_WRITE) != 0) written += rows[i].length;
  }
  return 3 * written;
}

// Whether a command reads bytes of one of its bindings, by that or by another.
static bool is_read(const work_t *work, uint32_t index,
                    const bm_plan_binding_t *written) {
  for (uint32_t i = 0; i < work->command->binding_count; ++i) {
    const bm_plan_binding_t *other = row(work->runner, index, i);
    if ((other->access & BM_PLAN_ACCESS_READ) != 0 &&
        other->region == written->region &&
        other->offset < written->offset + written->length &&
        written->offset < other->offset + other->length) {
      return true;
    }
  }
  return false;
}

static void bind(work_t *work, uint32_t index, uint8_t *memory) {
  for (uint32_t i = 0; i < work->command->binding_count; ++i) {
    const bm_plan_binding_t *binding = row(work->runner, index, i);
    uint8_t *at = work->runner->regions[binding->region] + binding->offset;
    work->pointers[i] = at;
    work->lengths[i] = binding->length;
    if ((binding->access & BM_PLAN_ACCESS_WRITE) == 0) continue;
    copy_t *copy = &work->copies[work->copy_count++];
    copy->binding = i;
    copy->length = binding->length;
    copy->memory = at;
    copy->is_read = is_read(work, index, binding);
    copy->before = memory;
    copy->after = memory + binding->length;
    copy->owners = memory + 2 * (size_t)binding->length;
    memory += 3 * (size_t)binding->length;
    memcpy(copy->before, at, binding->length);
    memset(copy->owners, 0, binding->length);
  }
}

static bm_status_t run_alone(work_t *work, uint32_t workgroup) {
  const bm_plan_command_t *command = work->command;
  const uint32_t count_x = command->workgroup_count[0];
  const uint32_t count_y = command->workgroup_count[1];
  bm_dispatcher_t dispatcher;
  bm_dispatcher_init(&dispatcher, work->pointers, work->lengths);
  dispatcher.state.workgroup_count_x = count_x;
  dispatcher.state.workgroup_count_y = count_y;
  dispatcher.state.workgroup_count_z = (uint16_t)command->workgroup_count[2];
  dispatcher.state.binding_count = (uint8_t)command->binding_count;
  dispatcher.state.constants =
      work->runner->constants + command->first_constant;
  dispatcher.state.constant_count = command->constant_count;
  dispatcher.workgroup.id_x = workgroup % count_x;
  dispatcher.workgroup.id_y = workgroup / count_x % count_y;
  dispatcher.workgroup.id_z = (uint16_t)(workgroup / count_x / count_y);
  const bm_abi_dispatch_fn_t kernel =
      (bm_abi_dispatch_fn_t)(uintptr_t)
          work->runner->functions[command->export_index];
  BM_CHECK(kernel(&bm_exec_environment, &dispatcher.state,
                  &dispatcher.workgroup) == 0,
           INTERNAL);
  return bm_ok();
}

static void found(work_t *work, bm_workgroup_fault_t fault, uint32_t workgroup,
                  const copy_t *copy, uint32_t byte) {
  if (work->out->fault != BM_WORKGROUP_OK) return;
  work->out->fault = fault;
  work->out->first = copy->owners[byte] == 0 ? 0 : copy->owners[byte] - 1u;
  work->out->second = workgroup;
  work->out->binding = copy->binding;
  work->out->byte = byte;
}

// Compares what a workgroup left in one of the bindings.
static void compare(work_t *work, uint32_t workgroup, const copy_t *copy,
                    uint8_t poison) {
  for (uint32_t i = 0; i < copy->length; ++i) {
    const uint8_t was = copy->is_read ? copy->before[i] : poison;
    if (copy->memory[i] == was) continue;
    if (copy->owners[i] != 0 && copy->owners[i] != (uint8_t)(workgroup + 1)) {
      found(work, BM_WORKGROUP_OVERLAPS, workgroup, copy, i);
    } else if (copy->memory[i] != copy->after[i]) {
      found(work, BM_WORKGROUP_DEPENDS, workgroup, copy, i);
    }
    copy->owners[i] = (uint8_t)(workgroup + 1);
  }
}

static bm_status_t check_alone(work_t *work, uint32_t workgroup) {
  for (uint32_t pass = 0; pass < POISONS; ++pass) {
    for (uint32_t i = 0; i < work->copy_count; ++i) {
      const copy_t *copy = &work->copies[i];
      if (copy->is_read) {
        memcpy(copy->memory, copy->before, copy->length);
      } else {
        memset(copy->memory, kPoisons[pass], copy->length);
      }
    }
    BM_TRY(run_alone(work, workgroup));
    for (uint32_t i = 0; i < work->copy_count; ++i) {
      compare(work, workgroup, &work->copies[i], kPoisons[pass]);
    }
  }
  return bm_ok();
}

bm_status_t bm_workgroup_check(const bm_plan_runner_t *runner, uint32_t index,
                               bm_span_t memory, bm_workgroup_check_t *out) {
  const bm_workgroup_check_t none = {BM_WORKGROUP_OK, 0, 0, 0, 0};
  work_t work = {.runner = runner,
                 .command = &runner->commands[index],
                 .copy_count = 0,
                 .out = out};
  *out = none;
  const uint32_t workgroups = workgroups_of(work.command);
  BM_CHECK(bm_workgroup_check_bytes(runner->plan, index) <= memory.size,
           RESOURCE_EXHAUSTED);
  // Owners are bytes.
  BM_CHECK(workgroups < UINT8_MAX, RESOURCE_EXHAUSTED);
  bind(&work, index, memory.data);
  for (uint32_t i = 0; i < workgroups; ++i) BM_TRY(run_alone(&work, i));
  for (uint32_t i = 0; i < work.copy_count; ++i) {
    const copy_t *copy = &work.copies[i];
    memcpy(copy->after, copy->memory, copy->length);
  }
  for (uint32_t i = 0; i < workgroups; ++i) BM_TRY(check_alone(&work, i));
  for (uint32_t i = 0; i < work.copy_count; ++i) {
    const copy_t *copy = &work.copies[i];
    memcpy(copy->memory, copy->after, copy->length);
  }
  return bm_ok();
}

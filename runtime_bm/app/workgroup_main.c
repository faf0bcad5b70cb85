// The main of firmware that checks whether harts may share the workgroups of
// each dispatch. It runs on one hart.
#include "runtime_bm/app/boot.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/app/workgroup_check.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"

// Three copies of what the largest dispatch writes.
static uint8_t memory[16 << 20] BM_FIRMWARE_ARENA;

#define BM_FILE BM_FILE_WORKGROUP_CHECK

static int fail(bm_status_t status, const char *text) {
  bm_text_t line;
  bm_console_error(&line, status);
  bm_text_string(&line, text);
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

static void report(const bm_plan_t *plan, uint32_t index,
                   const bm_workgroup_check_t *check) {
  const bm_plan_command_t *command = &bm_plan_commands(plan)[index];
  bm_text_t line;
  bm_console_error(&line, BM_ERROR(INTERNAL));
  bm_text_string(
      &line,
      bm_plan_string(plan, bm_plan_exports(plan)[command->export_index].name));
  bm_console_field(&line, ": byte ", check->byte);
  bm_console_field(&line, " of binding ", check->binding);
  if (check->fault == BM_WORKGROUP_OVERLAPS) {
    bm_console_field(&line, " is written by workgroups ", check->first);
    bm_console_field(&line, " and ", check->second);
  } else {
    bm_console_field(&line, " of workgroup ", check->second);
    bm_text_string(&line, " depends on what another one writes");
  }
  bm_console_write(&line);
}

// Checks every dispatch of the first entry point, on the first case's inputs.
static bm_status_t check_model(uint32_t number, uint32_t *checked,
                               uint32_t *bad) {
  const bm_span_t span = {memory, sizeof(memory)};
  const bm_golden_t *golden = bm_firmware_goldens[number];
  const uint8_t *data = golden->data;
  bm_model_t model;
  BM_TRY(bm_firmware_init(&bm_firmware_models[number], &model));
  const bm_plan_t *plan = model.runner.plan;
  for (uint32_t i = 0; i < model.entry->input_count; ++i) {
    bm_tensor_t input;
    BM_TRY(bm_model_input(&model, i, &input));
    memcpy(input.data, data, input.bytes);
    data += (input.bytes + BM_GOLDEN_ALIGNMENT - 1) / BM_GOLDEN_ALIGNMENT *
            BM_GOLDEN_ALIGNMENT;
  }
  const uint32_t first = model.entry->first_command;
  for (uint32_t i = first; i < first + model.entry->command_count; ++i) {
    bm_trap_dispatch = i;
    if (!bm_workgroup_check_applies(plan, i)) {
      BM_TRY(bm_plan_run(&model.runner, i, 1));
      continue;
    }
    bm_workgroup_check_t check;
    BM_TRY(bm_workgroup_check(&model.runner, i, span, &check));
    ++*checked;
    if (check.fault == BM_WORKGROUP_OK) continue;
    report(plan, i, &check);
    ++*bad;
  }
  return bm_ok();
}

int main(void) {
  const int unfit = bm_boot();
  if (unfit != 0) return unfit;
  uint32_t checked = 0;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < bm_firmware_model_count; ++i) {
    bm_trap_model = bm_firmware_models[i].name;
    const bm_status_t status = check_model(i, &checked, &bad);
    if (status.bits != 0) {
      return fail(status, "a dispatch cannot be checked, or failed");
    }
  }
  if (checked == 0) {
    return fail(BM_ERROR(NOT_FOUND),
                "no dispatch has several workgroups: build the models for "
                "several harts");
  }
  if (bad != 0) return BM_EXIT_ERROR;
  bm_text_t line;
  bm_console_record(&line, "PASS");
  bm_console_field(&line, " cases=", checked);
  bm_console_write(&line);
  return 0;
}

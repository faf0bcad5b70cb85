// Firmware: checks the processor, runs the golden cases, compares on the
// device and reports with the console protocol (result.h).
#include <stdbool.h>

#include "runtime_bm/app/compare.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/app/hooks.h"
#include "runtime_bm/app/profile.h"
#include "runtime_bm/base/hash.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/plan/plan_verify.h"

#define BM_FILE BM_FILE_APP

// What the cases add up to.
typedef struct totals_t {
  uint32_t bad;
  uint32_t correct;
  uint64_t hash;
  uint64_t instret;  // of the first case
  uint64_t cycles;   // of the first case
  bm_profile_t profile;
} totals_t;

static void begin_error(bm_text_t *line, bm_status_t status) {
  bm_console_record(line, "ERROR status=");
  bm_text_hex(line, status.bits, 8);
  bm_text_string(line, " ");
}

static int fail(bm_status_t status, const char *text) {
  bm_text_t line;
  begin_error(&line, status);
  bm_text_string(&line, text);
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

static void report_boot(const bm_hal_cpu_t *cpu) {
  bm_text_t line;
  bm_console_record(&line, "BOOT model=");
  bm_text_string(&line, bm_firmware_plan->name);
  bm_text_string(&line, " isa=");
  bm_text_string(&line, bm_firmware_isa);
  bm_console_field(&line, " vlen=", cpu->vlen_bits);
  bm_text_string(&line, " board=");
  bm_text_string(&line, bm_firmware_board);
  bm_console_write(&line);
}

// Kernels built for a longer vector than the hart has would not trap: they
// would give a wrong answer. So this comes before anything else.
static int fail_cpu(bm_status_t status, const bm_hal_cpu_t *cpu) {
  bm_text_t line;
  begin_error(&line, status);
  bm_text_string(&line, "the kernels are built for ");
  bm_text_string(&line, bm_firmware_isa);
  if (bm_firmware_plan->vlen_bits != 0) {
    bm_console_field(&line, " (VLEN >= ", bm_firmware_plan->vlen_bits);
    bm_text_string(&line, ")");
  }
  bm_text_string(&line, " and this hart is ");
  bm_text_string(&line, cpu->isa);
  bm_console_field(&line, " with VLEN ", cpu->vlen_bits);
  bm_text_string(&line, ": use another hart or build the model for this one");
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

// Keeps the trap report up to date: the next command is the one that runs.
static void on_command(void *context, uint32_t index) {
  (void)context;
  bm_trap_dispatch = index + 1;
}

static uint32_t padded(size_t bytes) {
  return ((uint32_t)bytes + BM_GOLDEN_ALIGNMENT - 1) / BM_GOLDEN_ALIGNMENT *
         BM_GOLDEN_ALIGNMENT;
}

static bm_status_t check_golden(const bm_plan_t *plan,
                                const bm_golden_t *golden) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < plan->input_count; ++i) {
    bytes += padded(plan->inputs[i].length);
  }
  for (uint32_t i = 0; i < plan->output_count; ++i) {
    bytes += padded(plan->outputs[i].length);
  }
  BM_CHECK(golden->case_count != 0, INVALID_ARGUMENT);
  BM_CHECK(golden->case_bytes == bytes, INVALID_ARGUMENT);
  return bm_ok();
}

// Copies the case's inputs into the arena; *out_want is where its expected
// outputs begin.
static bm_status_t set_inputs(bm_model_t *model, const uint8_t *data,
                              const uint8_t **out_want) {
  for (uint32_t i = 0; i < model->runner.plan->input_count; ++i) {
    bm_tensor_t input;
    BM_TRY(bm_model_input(model, i, &input));
    BM_TRY(bm_model_set_input(model, i, input.dtype, input.shape, input.rank,
                              data, input.bytes));
    data += padded(input.bytes);
  }
  *out_want = data;
  return bm_ok();
}

static void report_case(uint32_t index, const bm_compare_t *compare,
                        uint64_t hash) {
  bm_text_t line;
  bm_console_record(&line, "CASE");
  bm_console_field(&line, " index=", index);
  bm_text_string(&line, compare->ok ? " result=ok" : " result=mismatch");
  bm_text_string(&line, " max_abs=");
  bm_text_f64(&line, compare->max_abs);
  bm_text_string(&line, " cosine=");
  if (compare->has_cosine) {
    bm_text_fixed(&line, compare->min_cosine, 7);
  } else {
    bm_text_string(&line, "-");
  }
  bm_text_string(&line, " hash=");
  bm_text_hex(&line, hash, 16);
  bm_console_write(&line);
}

static bm_status_t check_outputs(const bm_model_t *model,
                                 const bm_golden_t *golden, uint32_t index,
                                 const uint8_t *want, totals_t *totals) {
  bm_compare_t compare;
  uint64_t hash = BM_HASH_SEED;
  bm_compare_begin(&compare);
  for (uint32_t i = 0; i < model->runner.plan->output_count; ++i) {
    bm_tensor_t output;
    BM_TRY(bm_model_output(model, i, &output));
    bm_compare_output(&compare, &golden->outputs[i], &output, want);
    hash = bm_hash(hash, output.data, output.bytes);
    want += padded(output.bytes);
  }
  if (golden->labels != NULL) {
    uint32_t label;
    bm_tensor_t output;
    BM_TRY(bm_model_output(model, 0, &output));
    memcpy(&label, golden->labels + index * sizeof(label), sizeof(label));
    if (bm_compare_argmax(&output) == label) ++totals->correct;
  }
  if (!compare.ok) ++totals->bad;
  totals->hash = bm_hash(totals->hash, &hash, sizeof(hash));
  report_case(index, &compare, hash);
  return bm_ok();
}

static bm_status_t run_case(bm_model_t *model, const bm_golden_t *golden,
                            uint32_t index, totals_t *totals) {
  const uint8_t *data = golden->data + (size_t)index * golden->case_bytes;
  const uint8_t *want;
  if (index == 0) {
    BM_TRY(set_inputs(model, data, &want));
    totals->profile = bm_profile(model);
  }
  BM_TRY(set_inputs(model, data, &want));
  bm_trap_dispatch = 0;
  const uint64_t cycles = bm_hal_cycles();
  const uint64_t instret = bm_hal_instret();
  BM_TRY(bm_model_run(model));
  if (index == 0) {
    totals->instret = bm_hal_instret() - instret;
    totals->cycles = bm_hal_cycles() - cycles;
  }
  bm_trap_dispatch = BM_TRAP_NO_DISPATCH;
  BM_TRY(check_outputs(model, golden, index, want, totals));
  bm_app_case(model, index);
  return bm_ok();
}

static void report_count(bm_text_t *line, const char *key, uint64_t count) {
  if (count == BM_PROFILE_UNKNOWN) {
    bm_text_string(line, key);
    bm_text_string(line, "-");
  } else {
    bm_console_field(line, key, count);
  }
}

static void report_stats(const bm_plan_t *plan, const totals_t *totals) {
  bm_text_t line;
  bm_console_record(&line, "STATS");
  bm_console_field(&line, " instret=", totals->instret);
  bm_console_field(&line, " cycles=", totals->cycles);
  bm_console_field(&line, " arena=", plan->arena_bytes);
  bm_console_field(&line, " stack=", bm_hal_stack_used());
  report_count(&line, " walker=", totals->profile.walker);
  report_count(&line, " workgroup=", totals->profile.workgroup);
  bm_console_write(&line);
}

static int report_end(const bm_golden_t *golden, const totals_t *totals) {
  bm_text_t line;
  bool ok = totals->bad == 0;
  if (golden->labels != NULL) {
    ok = ok && totals->correct == golden->framework_correct;
    bm_console_record(&line, "ACCURACY");
    bm_console_field(&line, " correct=", totals->correct);
    bm_console_field(&line, " total=", golden->case_count);
    bm_console_field(&line, " framework=", golden->framework_correct);
    bm_console_write(&line);
  }
  bm_console_record(&line, "HASH ");
  bm_text_hex(&line, totals->hash, 16);
  bm_console_write(&line);
  bm_console_record(&line, ok ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", golden->case_count);
  if (!ok) bm_console_field(&line, " bad=", totals->bad);
  bm_console_write(&line);
  return ok ? 0 : BM_EXIT_FAIL;
}

int main(void) {
  const bm_plan_t *plan = bm_firmware_plan;
  const bm_golden_t *golden = bm_firmware_golden;
  bm_hal_init();
  const bm_hal_cpu_t cpu = bm_hal_cpu();
  report_boot(&cpu);
  bm_status_t status = bm_plan_check_cpu(plan, cpu.isa_bits, cpu.vlen_bits);
  if (status.bits != 0) return fail_cpu(status, &cpu);

  bm_model_t model;
  status = bm_model_init(&model, plan, bm_firmware_arena, bm_firmware_code);
  if (status.bits != 0) {
    return fail(status,
                "the model cannot be used: the plan, its kernels and this "
                "firmware do not fit together; rebuild them as one");
  }
  status = check_golden(plan, golden);
  if (status.bits != 0) {
    return fail(status,
                "the golden data is not of this model: rebuild the image");
  }
  bm_model_observe(&model, on_command, NULL);
  bm_app_begin(&model);
  totals_t totals = {.hash = BM_HASH_SEED};
  for (uint32_t i = 0; i < golden->case_count; ++i) {
    status = run_case(&model, golden, i, &totals);
    if (status.bits != 0) {
      return fail(status, "a kernel reported an error while it ran");
    }
  }
  report_stats(plan, &totals);
  bm_app_end();
  return report_end(golden, &totals);
}

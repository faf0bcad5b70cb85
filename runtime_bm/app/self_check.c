#include "runtime_bm/app/self_check.h"

#include "runtime_bm/app/compare.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/hooks.h"
#include "runtime_bm/app/profile.h"
#include "runtime_bm/base/hash.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"

#define BM_FILE BM_FILE_SELF_CHECK

// The totals over all cases.
typedef struct totals_t {
  uint32_t bad;
  uint32_t correct;
  uint64_t hash;
  uint64_t instret;  // of the first case
  uint64_t cycles;   // of the first case
  bm_profile_t profile;
} totals_t;

// Keeps the trap report current: the next command is the one that runs.
static void on_command(void *context, uint32_t index) {
  (void)context;
  bm_trap_dispatch = index + 1;
}

// The model being checked, in which a trap looks up its kernel.
static const bm_model_t *checked;

// The export with the last start at or before `pc`: kernels are consecutive.
// That of the command if a linked function is running, which calls others.
// NULL when a fill or a copy is.
static const char *kernel_at(uintptr_t pc) {
  const bm_plan_runner_t *runner = &checked->runner;
  const bm_plan_t *plan = runner->plan;
  const uint32_t index = bm_trap_command();
  if (index < plan->header->commands.count) {
    const bm_plan_command_t *command = &bm_plan_commands(plan)[index];
    if (command->kind != BM_COMMAND_DISPATCH) return NULL;
    const bm_plan_export_t *export_ =
        &bm_plan_exports(plan)[command->export_index];
    if (export_->executable == BM_PLAN_LINKED) {
      return bm_plan_string(plan, export_->name);
    }
  }
  const char *name = NULL;
  uintptr_t start = 0;
  for (uint32_t i = 0; i < plan->header->exports.count; ++i) {
    const uintptr_t function = (uintptr_t)runner->functions[i];
    if (function <= pc && function > start) {
      start = function;
      name = bm_plan_string(plan, bm_plan_exports(plan)[i].name);
    }
  }
  return name;
}

static uint32_t padded(size_t bytes) {
  return ((uint32_t)bytes + BM_GOLDEN_ALIGNMENT - 1) / BM_GOLDEN_ALIGNMENT *
         BM_GOLDEN_ALIGNMENT;
}

static bm_golden_call_t call_of(const bm_golden_t *golden, uint32_t index) {
  static const bm_golden_call_t kFirstEntry = {0, 0};
  return golden->calls == NULL ? kFirstEntry : golden->calls[index];
}

// Takes tensors [first, first + count) from the front of `left` bytes of data.
// Nothing is added up, so a number of cases cannot wrap around to fit.
static bm_status_t take(const bm_plan_tensor_t *tensors, uint32_t first,
                        uint32_t count, uint32_t *left) {
  for (uint32_t i = first; i < first + count; ++i) {
    const uint32_t length = tensors[i].length;
    BM_CHECK(length <= *left && padded(length) <= *left, INVALID_ARGUMENT);
    *left -= padded(length);
  }
  return bm_ok();
}

bm_status_t bm_self_check_verify(const bm_plan_t *plan,
                                 const bm_golden_t *golden) {
  uint32_t left = golden->data_bytes;
  BM_CHECK(golden->case_count != 0, INVALID_ARGUMENT);
  for (uint32_t i = 0; i < golden->case_count; ++i) {
    const uint32_t number = call_of(golden, i).entry;
    BM_CHECK(number < plan->header->entries.count, INVALID_ARGUMENT);
    const bm_plan_entry_t *entry = &bm_plan_entries(plan)[number];
    BM_TRY(take(bm_plan_inputs(plan), entry->first_input, entry->input_count,
                &left));
    BM_TRY(take(bm_plan_outputs(plan), entry->first_output, entry->output_count,
                &left));
  }
  BM_CHECK(left == 0, INVALID_ARGUMENT);
  return bm_ok();
}

// Copies the case's inputs into the arena; sets *out_want to the start of its
// expected outputs. A call would take stack that kernels need.
BM_INLINE bm_status_t set_inputs(bm_model_t *model, const uint8_t *data,
                                 const uint8_t **out_want) {
  for (uint32_t i = 0; i < model->entry->input_count; ++i) {
    bm_tensor_t input;
    BM_TRY(bm_model_input(model, i, &input));
    BM_TRY(bm_model_set_input(model, i, input.dtype, input.shape, input.rank,
                              data, input.bytes));
    data += padded(input.bytes);
  }
  *out_want = data;
  return bm_ok();
}

static BM_NOINLINE void report_case(uint32_t index, const bm_compare_t *compare,
                                    uint64_t hash) {
  bm_text_t line;
  bm_console_record(&line, "CASE");
  bm_console_field(&line, " index=", index);
  bm_text_string(&line, compare->ok ? " result=ok" : " result=mismatch");
  bm_text_string(&line, " max_abs=");
  bm_text_f64(&line, compare->max_abs);
  bm_console_field(&line, " differing=", compare->differing);
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

// Advances *want to the next case.
static bm_status_t check_outputs(const bm_model_t *model,
                                 const bm_golden_t *golden, uint32_t index,
                                 const uint8_t **want, totals_t *totals) {
  const bm_golden_output_t *policies =
      golden->outputs + model->entry->first_output;
  bm_compare_t compare;
  uint64_t hash = BM_HASH_SEED;
  bm_compare_begin(&compare);
  for (uint32_t i = 0; i < model->entry->output_count; ++i) {
    bm_tensor_t output;
    BM_TRY(bm_model_output(model, i, &output));
    bm_compare_output(&compare, &policies[i], &output, *want);
    hash = bm_hash(hash, output.data, output.bytes);
    *want += padded(output.bytes);
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

// The first case's run with a profile, if that may not be the one that counts.
// Not inlined, so that its model takes no stack when there is none.
static BM_NOINLINE bm_status_t profile_apart(const bm_model_t *model,
                                             const uint8_t *data) {
  if (!bm_profile_is_apart()) return bm_ok();
  bm_model_t profiled = *model;
  BM_TRY(set_inputs(&profiled, data, &data));
  bm_trap_dispatch = model->entry->first_command;
  bm_profile_begin_apart(&profiled);
  BM_TRY(bm_model_run(&profiled));
  return bm_model_reset(model);
}

static bm_status_t run_case(const char *name, bm_model_t *model,
                            const bm_golden_t *golden, uint32_t index,
                            const uint8_t **data, totals_t *totals) {
  BM_TRY(set_inputs(model, *data, data));
  bm_trap_dispatch = model->entry->first_command;
  if (index == 0) bm_profile_begin(model);
  const uint64_t cycles = bm_hal_cycles();
  const uint64_t instret = bm_hal_instret();
  BM_TRY(bm_model_run(model));
  if (index == 0) {
    totals->instret = bm_hal_instret() - instret;
    totals->cycles = bm_hal_cycles() - cycles;
    totals->profile = bm_profile_end(model);
    totals->instret -= totals->profile.observing;
    totals->cycles -= totals->profile.observing_cycles;
  }
  bm_trap_dispatch = BM_TRAP_NO_DISPATCH;
  BM_TRY(check_outputs(model, golden, index, data, totals));
  bm_app_case(name, model, index);
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

static BM_NOINLINE void report_stats(const bm_plan_t *plan,
                                     const totals_t *totals) {
  bm_text_t line;
  bm_console_record(&line, "STATS");
  bm_console_field(&line, " instret=", totals->instret);
  bm_console_field(&line, " cycles=", totals->cycles);
  bm_console_field(&line, " arena=", plan->header->arena_bytes);
  bm_console_field(&line, " stack=", bm_hal_stack_used());
  report_count(&line, " walker=", totals->profile.walker);
  report_count(&line, " workgroup=", totals->profile.workgroup);
  bm_console_write(&line);
}

static BM_NOINLINE bool classified_as_framework(const bm_golden_t *golden,
                                                const totals_t *totals) {
  if (golden->labels == NULL) return true;
  bm_text_t line;
  bm_console_record(&line, "ACCURACY");
  bm_console_field(&line, " correct=", totals->correct);
  bm_console_field(&line, " total=", golden->case_count);
  bm_console_field(&line, " framework=", golden->framework_correct);
  bm_console_write(&line);
  return totals->correct == golden->framework_correct;
}

static BM_NOINLINE void report_hash(uint64_t hash) {
  bm_text_t line;
  bm_console_record(&line, "HASH ");
  bm_text_hex(&line, hash, 16);
  bm_console_write(&line);
}

bm_status_t bm_self_check_run(const char *name, bm_model_t *model,
                              const bm_golden_t *golden,
                              bm_self_check_t *out_check) {
  totals_t totals = {.hash = BM_HASH_SEED};
  bm_model_observe(model, on_command, NULL);
  checked = model;
  bm_trap_kernel_at = kernel_at;
  bm_app_begin(name, model);
  const bm_plan_t *plan = model->runner.plan;
  const uint8_t *data = golden->data;
  for (uint32_t i = 0; i < golden->case_count; ++i) {
    const bm_golden_call_t call = call_of(golden, i);
    bm_model_t entry = *model;
    entry.entry = &bm_plan_entries(plan)[call.entry];
    if (call.reset != 0) BM_TRY(bm_model_reset(&entry));
    if (i == 0) BM_TRY(profile_apart(&entry, data));
    BM_TRY(run_case(name, &entry, golden, i, &data, &totals));
  }
  report_stats(plan, &totals);
  bm_app_end(name);
  out_check->bad = totals.bad;
  out_check->ok = classified_as_framework(golden, &totals) && totals.bad == 0;
  report_hash(totals.hash);
  return bm_ok();
}

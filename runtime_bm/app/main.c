// Self-checking firmware: checks the processor, runs and compares the golden
// cases of every model, and reports in the console protocol (result.h).
#include <stdbool.h>

#include "runtime_bm/app/boot.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/app/self_check.h"
#include "runtime_bm/crt/trap.h"

// The totals over all models.
typedef struct totals_t {
  uint32_t cases;
  uint32_t bad;
  bm_text_t failed;  // names of the models that did not pass
} totals_t;

static int fail(bm_status_t status, const char *model, const char *text) {
  bm_text_t line;
  bm_console_error(&line, status);
  bm_text_string(&line, model);
  bm_text_string(&line, ": ");
  bm_text_string(&line, text);
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

static const char *reason(bm_status_t status) {
  switch (bm_status_code(status)) {
    case BM_CODE_DEVICE_FAILED:
      return "a device that computes kernels reported an error";
    case BM_CODE_TIMED_OUT:
      return "a device that computes kernels did not end in time";
    case BM_CODE_INTERNAL:
      return "a kernel reported an error while it ran";
    case BM_CODE_OUT_OF_RANGE:
      return "the model computed a place that is outside of its tensor, or not "
             "aligned as a kernel needs it";
    default:
      return "the model stopped with a status that tools/status explains";
  }
}

static BM_NOINLINE void report_model(const char *name) {
  bm_text_t line;
  bm_console_record(&line, "MODEL name=");
  bm_text_string(&line, name);
  bm_console_write(&line);
}

static void count(totals_t *totals, const char *name, uint32_t cases,
                  const bm_self_check_t *check) {
  totals->cases += cases;
  totals->bad += check->bad;
  if (check->ok) return;
  if (totals->failed.size != 0) bm_text_string(&totals->failed, ",");
  bm_text_string(&totals->failed, name);
}

// Returns the exit status for a model that cannot be run, else 0.
static int run_model(uint32_t index, totals_t *totals) {
  const bm_firmware_model_t *entry = &bm_firmware_models[index];
  const bm_golden_t *golden = bm_firmware_goldens[index];
  bm_model_t model;
  bm_self_check_t check;
  report_model(entry->name);
  bm_trap_model = entry->name;
  bm_status_t status = bm_firmware_init(entry, &model);
  if (status.bits != 0) {
    return fail(status, entry->name,
                "the model cannot be used: the plan, its kernels and this "
                "firmware do not fit together; rebuild them as one");
  }
  status = bm_self_check_verify(entry->plan, golden);
  if (status.bits != 0) {
    return fail(status, entry->name,
                "the golden data is not of this model: rebuild the image");
  }
  status = bm_self_check_run(entry->name, &model, golden, &check);
  if (status.bits != 0) {
    return fail(status, entry->name, reason(status));
  }
  bm_trap_model = NULL;
  count(totals, entry->name, golden->case_count, &check);
  return 0;
}

static BM_NOINLINE int report_end(const totals_t *totals) {
  const bool ok = totals->failed.size == 0;
  bm_text_t line;
  bm_console_record(&line, ok ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", totals->cases);
  if (!ok) {
    bm_console_field(&line, " bad=", totals->bad);
    bm_text_string(&line, " models=");
    bm_text_append(&line, &totals->failed);
  }
  bm_console_write(&line);
  return ok ? 0 : BM_EXIT_FAIL;
}

int main(void) {
  const int unfit = bm_boot();
  if (unfit != 0) return unfit;
  // main's own stack use is below every kernel's.
  static totals_t totals;
  for (uint32_t i = 0; i < bm_firmware_model_count; ++i) {
    const int status = run_model(i, &totals);
    if (status != 0) return status;
  }
  return report_end(&totals);
}

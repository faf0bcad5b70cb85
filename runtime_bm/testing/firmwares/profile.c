// Passes when a run takes as many instructions with a profile as without, once
// what bm_profile_end says is taken off. Only meaningful where the emulator
// counts instructions.
#include <stdbool.h>

#include "runtime_bm/app/console.h"
#include "runtime_bm/app/profile.h"
#include "runtime_bm/testing/firmwares/fake_firmware.h"

FAKE_FIRMWARE(&fake_plan, &fake_golden, "any");

static volatile uint32_t last;

static void on_command(void *context, uint32_t index) {
  (void)context;
  last = index;
}

// Returns what one run takes, or 0.
static BM_NOINLINE uint64_t count(bm_model_t *model) {
  const uint64_t start = bm_hal_instret();
  const bm_status_t status = bm_model_run(model);
  const uint64_t end = bm_hal_instret();
  return status.bits == 0 ? end - start : 0;
}

int main(void) {
  bm_hal_init();
  bm_text_t line;
  bm_model_t model;
  if (bm_firmware_init(&bm_firmware_models[0], &model).bits != 0) {
    return BM_EXIT_ERROR;
  }
  bm_model_observe(&model, on_command, NULL);
  const uint64_t plain = count(&model);
  bm_profile_begin(&model);
  const uint64_t observed = count(&model);
  const bm_profile_t profile = bm_profile_end(&model);

  bm_text_clear(&line);
  bm_console_field(&line, "profile: instructions without one ", plain);
  bm_console_field(&line, ", with one ", observed);
  bm_console_field(&line, ", of which for observing ", profile.observing);
  bm_console_write(&line);
  const bool ok =
      plain != 0 && observed > plain && observed - profile.observing == plain;
  bm_console_record(&line, ok ? "PASS cases=1" : "FAIL cases=1 bad=1");
  bm_console_write(&line);
  return ok ? 0 : BM_EXIT_FAIL;
}

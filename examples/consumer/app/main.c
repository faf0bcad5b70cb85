// Finds the pitch of a square wave.
#include <stdbool.h>

#include "runtime_bm/app/console.h"
#include "runtime_bm/app/models.h"

enum { SAMPLES = 32, PERIOD = 16 };

// The band of a wave with PERIOD, in the model's half periods in a frame.
enum { EXPECTED = 2 * SAMPLES / PERIOD };

static bm_status_t loudest(uint32_t *out_band) {
  static const uint32_t kShape[] = {1, SAMPLES};
  float samples[SAMPLES];
  bm_model_t model;
  bm_tensor_t output;
  for (uint32_t i = 0; i < SAMPLES; ++i) {
    const uint32_t at = i % PERIOD;
    samples[i] = at < PERIOD / 4 || at >= PERIOD - PERIOD / 4 ? 1 : -1;
  }
  BM_TRY(bm_firmware_init(bm_firmware_find("bands"), &model));
  BM_TRY(bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, samples,
                            sizeof(samples)));
  BM_TRY(bm_model_run(&model));
  BM_TRY(bm_model_output(&model, 0, &output));
  const float *bands = output.data;
  uint32_t best = 0;
  for (uint32_t i = 1; i < output.shape[1]; ++i) {
    if (bands[i] > bands[best]) best = i;
  }
  *out_band = best + 1;
  return bm_ok();
}

int main(void) {
  bm_text_t line;
  uint32_t band = 0;
  bm_hal_init();
  const bm_status_t status = loudest(&band);
  if (status.bits != 0) {
    bm_console_record(&line, "ERROR status=");
    bm_text_hex(&line, status.bits, 8);
    bm_text_string(&line, " the model cannot be used");
    bm_console_write(&line);
    return BM_EXIT_ERROR;
  }
  bm_text_clear(&line);
  bm_console_field(&line, "loudest band: ", band);
  bm_console_write(&line);
  const bool ok = band == EXPECTED;
  bm_console_record(&line, ok ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", 1);
  if (!ok) bm_console_field(&line, " bad=", 1);
  bm_console_write(&line);
  return ok ? 0 : BM_EXIT_FAIL;
}

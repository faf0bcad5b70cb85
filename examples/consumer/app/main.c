// Smooths a step, and says in how many samples the filter follows it.
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/models.h"

enum { SAMPLES = 64, STEP_AT = 32 };

static bm_status_t follow(uint32_t *out_samples) {
  static const uint32_t kShape[] = {1, SAMPLES};
  float samples[SAMPLES];
  bm_model_t model;
  bm_tensor_t output;
  for (uint32_t i = 0; i < SAMPLES; ++i) samples[i] = i < STEP_AT ? 0 : 8;
  BM_TRY(bm_firmware_init(bm_firmware_find("filter"), &model));
  BM_TRY(bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, samples,
                            sizeof(samples)));
  BM_TRY(bm_model_run(&model));
  BM_TRY(bm_model_output(&model, 0, &output));
  const float *means = output.data;
  uint32_t between = 0;
  for (uint32_t i = 0; i < output.shape[1]; ++i) {
    between += means[i] > 0 && means[i] < 8;
  }
  *out_samples = between + 1;
  return bm_ok();
}

int main(void) {
  bm_text_t line;
  uint32_t samples = 0;
  bm_hal_init();
  const bm_status_t status = follow(&samples);
  if (status.bits != 0) {
    bm_console_record(&line, "ERROR status=");
    bm_text_hex(&line, status.bits, 8);
    bm_console_write(&line);
    return BM_EXIT_ERROR;
  }
  bm_text_clear(&line);
  bm_console_field(&line, "follows a step in samples: ", samples);
  bm_console_write(&line);
  bm_console_record(&line, samples == 4 ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", 1);
  bm_console_write(&line);
  return samples == 4 ? 0 : BM_EXIT_FAIL;
}

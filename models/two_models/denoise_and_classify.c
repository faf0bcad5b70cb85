// Two models in one application: one model denoises pictures, the other
// classifies them.
//
// Both use the same arena, so the output of one is copied out before the other
// runs. The application also checks that they do not affect each other: the
// classifier sees a picture before and after the denoiser runs, and must give
// the same bits.
#include <stdbool.h>

#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/base/memory.h"

enum { PIXELS = 64, CLASSES = 10 };

typedef struct totals_t {
  uint32_t pictures;
  uint32_t disturbed;  // whose answer depended on the earlier run
  uint32_t right_noisy;
  uint32_t right_denoised;
} totals_t;

// The pictures a model is checked with.
static const bm_golden_t *pictures_of(const bm_firmware_model_t *entry) {
  return bm_firmware_goldens[entry - bm_firmware_models];
}

static const void *picture(const bm_golden_t *golden, uint32_t index) {
  return golden->data +
         (size_t)index * (golden->data_bytes / golden->case_count);
}

// Runs a model on a picture and copies its output from the arena.
static bm_status_t run(bm_model_t *model, const void *pixels, float *out) {
  static const uint32_t kShape[] = {1, PIXELS};
  bm_tensor_t output;
  BM_TRY(bm_model_set_input(model, 0, BM_DTYPE_F32, kShape, 2, pixels,
                            PIXELS * sizeof(float)));
  BM_TRY(bm_model_run(model));
  BM_TRY(bm_model_output(model, 0, &output));
  memcpy(out, output.data, output.bytes);
  return bm_ok();
}

static uint32_t largest(const float *logits) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < CLASSES; ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

// Case `index` of both models is the same digit, with and without noise.
static bm_status_t run_case(bm_model_t *classifier, bm_model_t *denoiser,
                            const void *clean, const void *noisy,
                            uint32_t label, totals_t *totals) {
  float before[CLASSES];
  float after[CLASSES];
  float logits[CLASSES];
  float denoised[PIXELS];
  BM_TRY(run(classifier, clean, before));
  BM_TRY(run(classifier, noisy, logits));
  totals->right_noisy += largest(logits) == label;
  BM_TRY(run(denoiser, noisy, denoised));
  BM_TRY(run(classifier, denoised, logits));
  totals->right_denoised += largest(logits) == label;
  BM_TRY(run(classifier, clean, after));
  totals->disturbed += memcmp(before, after, sizeof(before)) != 0;
  ++totals->pictures;
  return bm_ok();
}

static bm_status_t run_all(totals_t *totals) {
  const bm_firmware_model_t *mlp = bm_firmware_find("mlp");
  const bm_firmware_model_t *denoiser = bm_firmware_find("denoiser");
  const bm_golden_t *clean = pictures_of(mlp);
  const bm_golden_t *noisy = pictures_of(denoiser);
  const uint32_t *labels = (const uint32_t *)clean->labels;
  bm_model_t classify;
  bm_model_t denoise;
  BM_TRY(bm_firmware_init(mlp, &classify));
  BM_TRY(bm_firmware_init(denoiser, &denoise));
  for (uint32_t i = 0; i < noisy->case_count; ++i) {
    BM_TRY(run_case(&classify, &denoise, picture(clean, i), picture(noisy, i),
                    labels[i], totals));
  }
  return bm_ok();
}

int main(void) {
  totals_t totals = {.pictures = 0};
  bm_text_t line;
  bm_hal_init();
  const bm_status_t status = run_all(&totals);
  if (status.bits != 0) {
    bm_console_record(&line, "ERROR status=");
    bm_text_hex(&line, status.bits, 8);
    bm_text_string(&line, " a model cannot be used");
    bm_console_write(&line);
    return BM_EXIT_ERROR;
  }
  bm_text_clear(&line);
  bm_console_field(&line, "right with noise: ", totals.right_noisy);
  bm_console_field(&line, ", denoised: ", totals.right_denoised);
  bm_console_field(&line, ", of ", totals.pictures);
  bm_console_write(&line);
  const bool ok =
      totals.disturbed == 0 && totals.right_denoised > totals.right_noisy;
  bm_console_record(&line, ok ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", totals.pictures);
  if (!ok) bm_console_field(&line, " bad=", totals.disturbed);
  bm_console_write(&line);
  return ok ? 0 : BM_EXIT_FAIL;
}

// An application with a main of its own: docs/how-to/own-main.md explains it.
#include "runtime_bm/app/models.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/hal/hal.h"

// For BM_CHECK and BM_ERROR.
#define BM_FILE BM_FILE_APPLICATION

enum { PIXELS = 64, DIGITS = 10 };

// Says what went wrong and returns main's exit status.
static int fail(const char *what, bm_status_t status) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, what);
  bm_text_string(&line, ": ");
  bm_status_text(&line, status);
  bm_text_string(&line, "\n");
  bm_hal_console_write(line.bytes, line.size);
  return 1;
}

// Finds a model of the image, checks it, and prepares it. Once for each model.
static bm_status_t open(const char *name, bm_model_t *out_model) {
  const bm_firmware_model_t *entry = bm_firmware_find(name);
  BM_CHECK(entry != NULL, NOT_FOUND);
  return bm_firmware_init(entry, out_model);
}

// Sets the input, runs the model and returns a view of its output, which is
// valid until a model runs again.
static bm_status_t run(bm_model_t *model, const float pixels[PIXELS],
                       bm_tensor_t *out_result) {
  static const uint32_t kShape[] = {1, PIXELS};
  BM_TRY(bm_model_set_input(model, 0, BM_DTYPE_F32, kShape, 2, pixels,
                            PIXELS * sizeof(float)));
  BM_TRY(bm_model_run(model));
  return bm_model_output(model, 0, out_result);
}

static bm_model_t denoiser;
static bm_model_t classifier;

static bm_status_t start(void) {
  BM_TRY(open("denoiser", &denoiser));
  return open("mlp", &classifier);
}

static bm_status_t classify(const float pixels[PIXELS], uint32_t *out_digit) {
  bm_tensor_t image, scores;
  BM_TRY(run(&denoiser, pixels, &image));
  // The models share their memory: copy what must outlive the next run.
  float clean[PIXELS];
  for (uint32_t i = 0; i < PIXELS; ++i) clean[i] = ((float *)image.data)[i];
  BM_TRY(run(&classifier, clean, &scores));
  const float *score = scores.data;
  *out_digit = 0;
  for (uint32_t i = 1; i < DIGITS; ++i) {
    if (score[i] > score[*out_digit]) *out_digit = i;
  }
  return bm_ok();
}

// What a camera would see.
static const char kPictures[][PIXELS + 1] = {
    "  ####  "
    " ##  ## "
    " ##  ## "
    " ##  ## "
    " ##  ## "
    " ##  ## "
    " ##  ## "
    "  ####  ",
    "  ##### "
    "    ##  "
    "    ##  "
    "  ##### "
    "   ##   "
    "   ##   "
    "  ##    "
    "  ##    ",
};

int main(void) {
  bm_hal_init();
  bm_status_t status = start();
  if (!bm_status_is_ok(status)) return fail("start", status);
  for (uint32_t i = 0; i < sizeof(kPictures) / sizeof(kPictures[0]); ++i) {
    float pixels[PIXELS];
    for (uint32_t p = 0; p < PIXELS; ++p) {
      pixels[p] = kPictures[i][p] == '#' ? 1.0f : 0.0f;
    }
    uint32_t digit;
    status = classify(pixels, &digit);
    if (!bm_status_is_ok(status)) return fail("classify", status);
    const char line[] = {'d', 'i', 'g', 'i', 't', ' ', (char)('0' + digit),
                         '\n'};
    bm_hal_console_write(line, sizeof(line));
  }
  return 0;
}

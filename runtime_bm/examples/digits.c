// A model in an ordinary C program: classifies the held-out digits that come
// with the model. The same code works in firmware, which only lacks printf.
#include <stdio.h>
#include <string.h>

#include "models/mlp/mlp/mlp.h"
#include "runtime_bm/app/golden.h"

extern const bm_golden_t mlp_golden;

// Inputs, outputs and intermediates; the model's header gives the size.
static mlp_arena_t arena;

static int fail(const char *what, bm_status_t status) {
  bm_text_t text;
  bm_text_clear(&text);
  bm_status_text(&text, status);
  fprintf(stderr, "digits: %s failed: %.*s\n", what, (int)text.size,
          text.bytes);
  return 1;
}

static unsigned largest(const float *values, unsigned count) {
  unsigned best = 0;
  for (unsigned i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

int main(void) {
  bm_model_t model;
  bm_status_t status = mlp_init(&model, &arena);
  if (!bm_status_is_ok(status)) return fail("init", status);

  const uint32_t *labels = (const uint32_t *)mlp_golden.labels;
  uint32_t correct = 0;
  for (uint32_t i = 0; i < mlp_golden.case_count; ++i) {
    const uint8_t *image =
        mlp_golden.data +
        (size_t)i * (mlp_golden.data_bytes / mlp_golden.case_count);
    memcpy(mlp_input_image(&model), image,
           MLP_INPUT_IMAGE_ELEMENTS * sizeof(float));
    status = bm_model_run(&model);
    if (!bm_status_is_ok(status)) return fail("run", status);
    correct += largest(mlp_output_logits(&model), MLP_OUTPUT_LOGITS_ELEMENTS) ==
               labels[i];
  }
  printf("%u of %u digits classified right; PyTorch: %u\n", (unsigned)correct,
         (unsigned)mlp_golden.case_count,
         (unsigned)mlp_golden.framework_correct);
  return correct == mlp_golden.framework_correct ? 0 : 1;
}

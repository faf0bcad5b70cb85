// A model in an ordinary C program: classifies the held-out digits that come
// with the model. The same code works in firmware, which only lacks printf.
#include <stdio.h>

#include "models/mlp/mlp/plan.h"
#include "runtime_bm/app/golden.h"
#include "runtime_bm/bm.h"

extern const bm_golden_t mlp_golden;

// Inputs, outputs and intermediates; the model's header gives the size.
static BM_ALIGNED uint8_t arena[MLP_ARENA_BYTES];

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
  const bm_span_t arena_span = {arena, sizeof(arena)};
  const bm_span_t no_code = {NULL, 0};  // the kernels are linked in
  bm_model_t model;
  bm_status_t status = bm_model_init(&model, &mlp_plan, arena_span, no_code);
  if (!bm_status_is_ok(status)) return fail("init", status);

  const uint32_t *labels = (const uint32_t *)mlp_golden.labels;
  uint32_t correct = 0;
  for (uint32_t i = 0; i < mlp_golden.case_count; ++i) {
    static const uint32_t kShape[] = {1, 64};
    const uint8_t *image =
        mlp_golden.data +
        (size_t)i * (mlp_golden.data_bytes / mlp_golden.case_count);
    status = bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, image,
                                64 * sizeof(float));
    if (!bm_status_is_ok(status)) return fail("set_input", status);
    status = bm_model_run(&model);
    if (!bm_status_is_ok(status)) return fail("run", status);
    bm_tensor_t logits;
    status = bm_model_output(&model, 0, &logits);
    if (!bm_status_is_ok(status)) return fail("output", status);
    correct += largest(logits.data, logits.shape[1]) == labels[i];
  }
  printf("%u of %u digits classified right; PyTorch: %u\n", (unsigned)correct,
         (unsigned)mlp_golden.case_count,
         (unsigned)mlp_golden.framework_correct);
  return correct == mlp_golden.framework_correct ? 0 : 1;
}

// A model in an ordinary C program on the host. The same lines work in
// firmware: only printf does not exist there.
//
// The model is the runtime's own test model, y = 2 x + t; with one of yours,
// include its plan.h instead of fake_model.h and use its names.
#include <stdio.h>

#include "runtime_bm/bm.h"
#include "runtime_bm/testing/fake_model.h"

// Inputs, outputs and everything in between; the size comes with the model.
static BM_ALIGNED uint8_t arena[FAKE_ARENA_BYTES];

static int fail(const char *what, bm_status_t status) {
  fprintf(stderr,
          "hello: %s failed; `tools/status/decode.py 0x%08x` says where\n",
          what, (unsigned)status.bits);
  return 1;
}

int main(void) {
  static const uint32_t kShape[] = {2, 32};
  static float x[2][32];
  const bm_span_t arena_span = {arena, sizeof(arena)};
  const bm_span_t no_code = {NULL, 0};  // the kernels are linked in
  bm_model_t model;
  bm_tensor_t y;

  bm_status_t status = bm_model_init(&model, &fake_plan, arena_span, no_code);
  if (status.bits != 0) return fail("init", status);

  for (int i = 0; i < 64; ++i) x[i / 32][i % 32] = (float)i;
  status = bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, x, sizeof(x));
  if (status.bits != 0) return fail("set_input", status);

  status = bm_model_run(&model);
  if (status.bits != 0) return fail("run", status);

  status = bm_model_output(&model, 0, &y);
  if (status.bits != 0) return fail("output", status);
  const float *values = y.data;
  printf("%s: %s[0][3] = %g, %s[1][31] = %g\n", fake_plan.name, y.name,
         (double)values[3], y.name, (double)values[63]);
  return values[3] == 7.5f && values[63] == 127.0f ? 0 : 1;
}

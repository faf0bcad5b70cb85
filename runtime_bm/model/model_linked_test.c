// A plan of which an export is a function linked into the program.
#include "runtime_bm/base/memory.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/exec/call.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

static BM_ALIGNED uint8_t arena_bytes[FAKE_ARENA_BYTES];
static const bm_span_t kArena = {arena_bytes, sizeof(arena_bytes)};
static const bm_span_t kNoCode = {NULL, 0};
static const uint32_t kShape[] = {2, 32};

static bm_status_t set_x(bm_model_t *model, const void *data) {
  return bm_model_set_input(model, 0, BM_DTYPE_F32, kShape, 2, data, 256);
}

// Multiplies like the library's kernel; says in `calls` that it did.
static uint32_t calls;
static int status_of_call;
BM_CALL(multiply) {
  BM_CALL_BEGIN();
  const float *a = BM_CALL_AT(0, 0);
  const float *b = BM_CALL_AT(1, 0);
  float *out = BM_CALL_AT(2, 0);
  for (uint32_t i = 0; i < bm_call_state->constants[0]; ++i) {
    out[i] = a[i] * b[i];
  }
  ++calls;
  return status_of_call;
}

static uint32_t waits;
static bm_code_t status_of_wait = BM_CODE_OK;
static bm_status_t wait_for_calls(void) {
  ++waits;
  if (status_of_wait == BM_CODE_OK) return bm_ok();
  return bm_status_make(status_of_wait, BM_FILE_APPLICATION, 1);
}

static void runs_a_linked_function(void) {
  static const bm_plan_function_t kFunctions[] = {(bm_plan_function_t)multiply};
  static const void *table[FAKE_EXPORT_COUNT];
  static fake_tables_t tables;
  bm_plan_t plan = fake_plan;
  bm_model_t model;
  bm_tensor_t y;
  tables = fake_tables;
  tables.header.function_count = 1;
  tables.exports[FAKE_MULTIPLY].executable = BM_PLAN_LINKED;
  tables.exports[FAKE_MULTIPLY].ordinal = 0;
  plan.header = &tables.header;
  plan.functions = kFunctions;
  plan.table = table;
  BM_EXPECT_OK(bm_model_init(&model, &plan, kArena, kNoCode));
  BM_EXPECT_OK(bm_model_output(&model, 0, &y));
  BM_EXPECT_OK(set_x(&model, fake_golden_data));
  BM_EXPECT_OK(bm_model_run(&model));
  BM_EXPECT(calls != 0);
  BM_EXPECT(memcmp(y.data, fake_golden_data + 64, 256) == 0);
  status_of_call = 1;
  BM_EXPECT_CODE(bm_model_run(&model), INTERNAL);
  // What the function left to be done is done, and its reason is the better.
  plan.wait = wait_for_calls;
  BM_EXPECT_CODE(bm_model_run(&model), INTERNAL);
  BM_EXPECT(waits == 1);
  status_of_wait = BM_CODE_TIMED_OUT;
  BM_EXPECT_CODE(bm_model_run(&model), TIMED_OUT);
  BM_EXPECT(waits == 2);
  // A run that succeeds waits where its driver says, and nowhere else.
  status_of_call = 0;
  BM_EXPECT_OK(bm_model_run(&model));
  BM_EXPECT(waits == 2);
}

int main(void) {
  BM_TEST(runs_a_linked_function);
  return bm_test_end();
}

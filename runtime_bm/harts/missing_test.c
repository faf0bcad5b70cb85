// A machine with fewer harts than the image.
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/thread_harts.h"

static uint32_t runs;

static void count_run(void *context, uint32_t hart) {
  (void)context;
  (void)hart;
  ++runs;
}

static void a_missing_hart_is_an_error(void) {
  thread_harts_absent = bm_hart_count - 1;
  // Hart 0 is always there.
  if (bm_hart_count == 1) return;
  BM_EXPECT_CODE(bm_harts_run(count_run, NULL), HART_MISSING);
  BM_EXPECT_CODE(bm_harts_start(), HART_MISSING);
  BM_EXPECT_EQ(runs, 0);
  BM_EXPECT_EQ(bm_harts_present(), ((uint64_t)1 << (bm_hart_count - 1)) - 1);
}

int main(void) {
  BM_TEST(a_missing_hart_is_an_error);
  return bm_test_end();
}

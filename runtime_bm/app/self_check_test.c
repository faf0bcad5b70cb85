// Tests that golden data which does not belong to a plan is refused.
#include "runtime_bm/app/self_check.h"

#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

static fake_tables_t tables;
static bm_plan_t plan;
static bm_golden_t golden;

static void reset(void) {
  tables = fake_tables;
  plan = fake_plan;
  plan.header = &tables.header;
  golden = fake_golden;
}

// Changes one field of fresh copies, which the check must notice.
#define EXPECT_SPOILED(lvalue, value)                                       \
  do {                                                                      \
    reset();                                                                \
    (lvalue) = (value);                                                     \
    BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT); \
  } while (0)

static void accepts_its_own_data(void) {
  BM_EXPECT_OK(bm_self_check_verify(&fake_plan, &fake_golden));
  reset();
  BM_EXPECT_OK(bm_self_check_verify(&plan, &golden));
}

static void data_has_the_size_of_all_cases(void) {
  EXPECT_SPOILED(golden.data_bytes, 0);
  EXPECT_SPOILED(golden.data_bytes, FAKE_CASE_COUNT * FAKE_CASE_BYTES - 1);
  EXPECT_SPOILED(golden.data_bytes,
                 FAKE_CASE_COUNT * FAKE_CASE_BYTES + BM_GOLDEN_ALIGNMENT);
  EXPECT_SPOILED(golden.case_count, FAKE_CASE_COUNT - 1);
  EXPECT_SPOILED(golden.case_count, FAKE_CASE_COUNT + 1);
  EXPECT_SPOILED(tables.inputs[0].length, 257);
  EXPECT_SPOILED(tables.outputs[0].length, 192);
}

// 2^23 more cases of 512 bytes are 2^32 bytes more, which 32 bits do not show.
static void sizes_do_not_wrap_around(void) {
  EXPECT_SPOILED(golden.case_count, FAKE_CASE_COUNT + (1u << 23));
}

static void every_tensor_is_padded(void) {
  reset();
  tables.inputs[0].length = 193;  // takes 256 bytes
  tables.outputs[0].length = 4;   // takes 64
  BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT);
  golden.data_bytes = FAKE_CASE_COUNT * (256 + 64);
  BM_EXPECT_OK(bm_self_check_verify(&plan, &golden));
}

static void there_is_a_case(void) {
  reset();
  golden.case_count = 0;
  golden.data_bytes = 0;
  BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT);
}

static void every_case_calls_an_entry_point(void) {
  bm_golden_call_t calls[FAKE_CASE_COUNT] = {{0, 0}, {0, 1}};
  reset();
  golden.calls = calls;
  BM_EXPECT_OK(bm_self_check_verify(&plan, &golden));
  calls[1].entry = FAKE_ENTRY_COUNT;
  BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT);
}

int main(void) {
  BM_TEST(accepts_its_own_data);
  BM_TEST(data_has_the_size_of_all_cases);
  BM_TEST(sizes_do_not_wrap_around);
  BM_TEST(every_tensor_is_padded);
  BM_TEST(there_is_a_case);
  BM_TEST(every_case_calls_an_entry_point);
  return bm_test_end();
}

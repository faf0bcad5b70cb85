// Tests what a driver may compute: places to read from, and where commands read
// and write.
#include "runtime_bm/plan/plan_driver.h"

#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

static _Alignas(BM_PLAN_ALIGNMENT) uint8_t arena[FAKE_ARENA_BYTES];

static void checks_what_drivers_compute(void) {
  const bm_plan_runner_t runner = {.plan = &fake_plan, .regions = {arena}};
  bm_plan_binding_t binding = {
      .region = BM_PLAN_REGION_ARENA, .alignment = 64, .length = 32};
  uint64_t value;
  for (uint32_t i = 0; i < 16; ++i) arena[64 + i] = (uint8_t)(0xF0 + i);
  BM_EXPECT_OK(bm_driver_load(&runner, 0, 64, 16, 8, 8, &value));
  BM_EXPECT(value == 0xFFFEFDFCFBFAF9F8u);
  BM_EXPECT_OK(bm_driver_load(&runner, 0, 64, 16, 15, 1, &value));
  BM_EXPECT_EQ(value, 0xFF);
  BM_EXPECT_CODE(bm_driver_load(&runner, 0, 64, 16, 9, 8, &value),
                 OUT_OF_RANGE);
  BM_EXPECT_CODE(bm_driver_load(&runner, 0, 64, 16, UINT64_MAX, 1, &value),
                 OUT_OF_RANGE);
  BM_EXPECT_OK(bm_driver_bind(&binding, 64, 96, 64));
  BM_EXPECT_EQ(binding.offset, 128);
  BM_EXPECT_CODE(bm_driver_bind(&binding, 64, 96, 32), OUT_OF_RANGE);
  BM_EXPECT_EQ(binding.offset, 128);
  binding.alignment = 32;
  BM_EXPECT_OK(bm_driver_bind(&binding, 64, 96, 32));
  BM_EXPECT_EQ(binding.offset, 96);
  binding.alignment = 1;
  BM_EXPECT_CODE(bm_driver_bind(&binding, 64, 96, 65), OUT_OF_RANGE);
  BM_EXPECT_CODE(bm_driver_bind(&binding, 64, 96, (uint64_t)-64), OUT_OF_RANGE);
  BM_EXPECT_EQ(binding.offset, 96);
}

static void checks_where_drivers_copy(void) {
  // 16 bytes within [64, 128).
  bm_plan_binding_t copy[] = {
      {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_READ, 1, 64, 16},
      {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 1, 80, 16}};
  BM_EXPECT_OK(bm_driver_bind_copy(copy, 64, 16, 0, 64, 64, 48));
  BM_EXPECT_EQ(copy[1].offset, 112);
  BM_EXPECT_OK(bm_driver_bind_copy(copy, 64, 64, 32, 64, 64, 16));
  BM_EXPECT_EQ(copy[0].offset, 96);
  BM_EXPECT_EQ(copy[1].offset, 80);
  // One byte of overlap on either side, and full overlap.
  BM_EXPECT_CODE(bm_driver_bind_copy(copy, 64, 64, 32, 64, 64, 17),
                 OUT_OF_RANGE);
  BM_EXPECT_CODE(bm_driver_bind_copy(copy, 64, 64, 16, 64, 64, 31),
                 OUT_OF_RANGE);
  BM_EXPECT_CODE(bm_driver_bind_copy(copy, 64, 64, 16, 64, 64, 16),
                 OUT_OF_RANGE);
  // Outside its storage on either side.
  BM_EXPECT_CODE(bm_driver_bind_copy(copy, 64, 64, 49, 64, 64, 0),
                 OUT_OF_RANGE);
  BM_EXPECT_CODE(bm_driver_bind_copy(copy, 64, 64, 0, 64, 64, UINT64_MAX),
                 OUT_OF_RANGE);
  // A refused move changes neither binding.
  BM_EXPECT_EQ(copy[0].offset, 96);
  BM_EXPECT_EQ(copy[1].offset, 80);
  // Different regions never overlap.
  copy[0].region = BM_PLAN_REGION_WEIGHTS;
  BM_EXPECT_OK(bm_driver_bind_copy(copy, 64, 64, 16, 64, 64, 16));
}

int main(void) {
  BM_TEST(checks_what_drivers_compute);
  BM_TEST(checks_where_drivers_copy);
  return bm_test_end();
}

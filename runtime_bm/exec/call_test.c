// The operations of epilogues, where they are not what C does by itself.
#include "runtime_bm/exec/call.h"

#include "runtime_bm/testing/bm_test.h"

static const float kNan = __builtin_nanf("");

static void integers_wrap_around(void) {
  BM_EXPECT(bm_call_add(INT32_MAX, 1) == INT32_MIN);
  BM_EXPECT(bm_call_subtract(INT32_MIN, 1) == INT32_MAX);
  BM_EXPECT(bm_call_multiply(65536, 65537) == 65536);
  BM_EXPECT(bm_call_shift_left(3, 31) == INT32_MIN);
  BM_EXPECT(bm_call_shift_right(-5, 1) == -3);
  BM_EXPECT(bm_call_shift_right_unsigned(-1, 28) == 15);
  BM_EXPECT(bm_call_multiply_high(INT32_MIN, 3) == -2);
  BM_EXPECT(bm_call_min(-1, 1) == -1);
  BM_EXPECT(bm_call_max(-1, 1) == 1);
}

static void divisions_round_to_nearest_and_up_in_the_middle(void) {
  BM_EXPECT(bm_call_scaled(3, 1 << 30) == 2);    // 1.5
  BM_EXPECT(bm_call_scaled(-3, 1 << 30) == -1);  // -1.5
  BM_EXPECT(bm_call_rounded(5, 1) == 3);
  BM_EXPECT(bm_call_rounded(-5, 1) == -2);
  BM_EXPECT(bm_call_rounded(7, 0) == 7);
  BM_EXPECT(bm_call_rounded(INT32_MAX, 31) == 1);
  BM_EXPECT(bm_call_clipped(5, 1, -128, -128, 127) == -125);
  BM_EXPECT(bm_call_clipped(INT32_MAX, 0, 1, -128, 127) == 127);
  BM_EXPECT(bm_call_clipped(INT32_MIN, 0, -1, -5, 127) == -5);
}

static void a_carry_is_one(void) {
  BM_EXPECT(bm_call_carried(4, 0, -1) == 5);  // the sum has wrapped around
  BM_EXPECT(bm_call_carried(4, 7, 3) == 4);
}

static void floats_convert_as_on_riscv(void) {
  BM_EXPECT(bm_call_int_of_float(-1.9f) == -1);
  BM_EXPECT(bm_call_int_of_float(3e9f) == INT32_MAX);
  BM_EXPECT(bm_call_int_of_float(-3e9f) == INT32_MIN);
  BM_EXPECT(bm_call_int_of_float(kNan) == INT32_MAX);
  BM_EXPECT(bm_call_float_of_bits(0x3fc00000) == 1.5f);
  BM_EXPECT(bm_call_bits_of_float(1.5f) == 0x3fc00000);
}

static void limits_differ_in_what_a_nan_becomes(void) {
  BM_EXPECT(bm_call_min_number(kNan, 2) == 2);
  BM_EXPECT(bm_call_min_number(2, kNan) == 2);
  BM_EXPECT(bm_call_max_number(kNan, 2) == 2);
  BM_EXPECT(bm_call_max_number(1, 2) == 2);
  BM_EXPECT(bm_call_minimum(1, 2) == 1);
  BM_EXPECT(bm_call_maximum(1, 2) == 2);
  const float first = bm_call_minimum(kNan, 2);
  const float second = bm_call_maximum(2, kNan);
  BM_EXPECT(first != first);
  BM_EXPECT(second != second);
}

static void a_multiply_add_rounds_once(void) {
  // (1 + e)(1 - e) - 1 is -e * e, of which two roundings leave nothing.
  const float e = 0x1p-23f;
  BM_EXPECT(bm_call_multiply_add(1 + e, 1 - e, -1) == -e * e);
}

int main(void) {
  BM_TEST(integers_wrap_around);
  BM_TEST(divisions_round_to_nearest_and_up_in_the_middle);
  BM_TEST(a_carry_is_one);
  BM_TEST(floats_convert_as_on_riscv);
  BM_TEST(limits_differ_in_what_a_nan_becomes);
  BM_TEST(a_multiply_add_rounds_once);
  return bm_test_end();
}

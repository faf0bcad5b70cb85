#include "runtime_bm/app/compare.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"

#define INF __builtin_inff()
#define NAN __builtin_nanf("")

// Compares `count` elements as one row (or rows of `row`) and returns the
// result.
static bm_compare_t compare(const bm_golden_output_t *policy, uint32_t dtype,
                            const void *got, const void *want, uint32_t count,
                            uint32_t row) {
  const uint32_t shape[] = {count / row, row};
  const bm_tensor_t tensor = {
      .data = (void *)(uintptr_t)got,
      .shape = shape,
      .rank = 2,
      .dtype = dtype,
      .bytes = (size_t)count * bm_dtype_bytes(dtype),
  };
  // What is in memory before is no result.
  bm_compare_t result;
  memset(&result, 0x7F, sizeof(result));
  bm_compare_begin(&result);
  bm_compare_output(&result, policy, &tensor, want);
  return result;
}

static bool float_ok(float atol, float rtol, float got, float want) {
  const bm_golden_output_t policy = {BM_GOLDEN_FLOAT, atol, rtol, -1, 0, 0};
  return compare(&policy, BM_DTYPE_F32, &got, &want, 1, 1).ok;
}

static void float_policy_bounds(void) {
  BM_EXPECT(float_ok(0.5f, 0, 1.5f, 1));
  BM_EXPECT(!float_ok(0.25f, 0, 1.5f, 1));
  BM_EXPECT(float_ok(0, 0.5f, -1.5f, -1));
  BM_EXPECT(!float_ok(0, 0.25f, -1.5f, -1));
  BM_EXPECT(float_ok(0, 0, 3, 3));
  BM_EXPECT(float_ok(0, 0, -0.0f, 0));
}

static void float_policy_is_strict_about_nan_and_infinity(void) {
  BM_EXPECT(float_ok(0, 0, NAN, NAN));
  BM_EXPECT(float_ok(0, 0, INF, INF));
  BM_EXPECT(!float_ok(1e30f, 1e30f, NAN, 1));
  BM_EXPECT(!float_ok(1e30f, 1e30f, 1, NAN));
  BM_EXPECT(!float_ok(1e30f, 1e30f, INF, 1));
  BM_EXPECT(!float_ok(1e30f, 1e30f, 1, INF));
  BM_EXPECT(!float_ok(1e30f, 1e30f, -INF, INF));
}

static void maximum_is_kept(void) {
  const bm_golden_output_t policy = {BM_GOLDEN_FLOAT, 1, 0, -1, 0, 0};
  const float got[] = {1, 2.5f, -3, 4};
  const float want[] = {1, 2, -2.25f, 4};
  bm_compare_t result = compare(&policy, BM_DTYPE_F32, got, want, 4, 4);
  BM_EXPECT(result.ok && result.max_abs == 0.75);
  BM_EXPECT(!result.has_cosine);
  const float nan[] = {1, NAN, -3, 4};
  result = compare(&policy, BM_DTYPE_F32, nan, want, 4, 4);
  BM_EXPECT(!result.ok && result.max_abs != result.max_abs);
}

static void cosine_is_checked_per_row(void) {
  // The first row is right; the second has another direction within atol.
  const bm_golden_output_t policy = {BM_GOLDEN_FLOAT, 1, 0, 0.9f, 0, 0};
  const float want[] = {3, 4, 1, 0};
  const float got[] = {3, 4, 1, 1};
  bm_compare_t result = compare(&policy, BM_DTYPE_F32, got, want, 4, 2);
  BM_EXPECT(!result.ok && result.has_cosine);
  BM_EXPECT(result.min_cosine > 0.7071 && result.min_cosine < 0.7072);
  result = compare(&policy, BM_DTYPE_F32, want, want, 4, 2);
  BM_EXPECT(result.ok && result.min_cosine == 1);
  // A row that is worse than the one before, and not enough, hides no other.
  const float turning[] = {1, 0, 1, 0, 1, 0};
  const float turned[] = {1, 0.25f, 1, 1, 1, 0.25f};
  result = compare(&policy, BM_DTYPE_F32, turned, turning, 6, 2);
  BM_EXPECT(!result.ok && result.min_cosine < 0.7072);
  // As one row it is close enough.
  result = compare(&policy, BM_DTYPE_F32, got, want, 4, 4);
  BM_EXPECT(result.ok);
}

static void cosine_of_zero_rows(void) {
  const bm_golden_output_t policy = {BM_GOLDEN_FLOAT, 10, 0, 0.5f, 0, 0};
  const float zero[] = {0, 0};
  const float one[] = {1, 0};
  BM_EXPECT(compare(&policy, BM_DTYPE_F32, zero, zero, 2, 2).ok);
  BM_EXPECT(!compare(&policy, BM_DTYPE_F32, zero, one, 2, 2).ok);
  const float nan[] = {NAN, NAN};
  const bm_compare_t result = compare(&policy, BM_DTYPE_F32, nan, nan, 2, 2);
  BM_EXPECT(!result.ok && result.min_cosine != result.min_cosine);
}

static void exact_policy_compares_bytes(void) {
  const bm_golden_output_t policy = {BM_GOLDEN_EXACT, 0, 0, -1, 0, 0};
  const float zero = 0;
  const float minus_zero = -0.0f;
  BM_EXPECT(compare(&policy, BM_DTYPE_F32, &zero, &zero, 1, 1).ok);
  BM_EXPECT(!compare(&policy, BM_DTYPE_F32, &zero, &minus_zero, 1, 1).ok);
  // But one NaN is as good as another.
  const float nan = NAN;
  const float other_nan = -NAN;
  BM_EXPECT(compare(&policy, BM_DTYPE_F32, &nan, &other_nan, 1, 1).ok);
  BM_EXPECT(!compare(&policy, BM_DTYPE_F32, &nan, &zero, 1, 1).ok);
  // Equal as doubles, different as integers.
  const int64_t big = (1ll << 60) + 1;
  const int64_t bigger = (1ll << 60) + 2;
  BM_EXPECT(!compare(&policy, BM_DTYPE_I64, &big, &bigger, 1, 1).ok);
}

static void step_policy_allows_steps(void) {
  const bm_golden_output_t policy = {BM_GOLDEN_INT_STEP, 0, 0, -1, 1, 3};
  const int8_t want[] = {-128, 0, 127};
  const int8_t near[] = {-127, -1, 126};
  const int8_t far[] = {-128, 2, 127};
  BM_EXPECT(compare(&policy, BM_DTYPE_I8, near, want, 3, 3).ok);
  const bm_compare_t result = compare(&policy, BM_DTYPE_I8, far, want, 3, 3);
  BM_EXPECT(!result.ok && result.max_abs == 2 && result.differing == 1);
}

static void step_policy_limits_how_many_differ(void) {
  bm_golden_output_t policy = {BM_GOLDEN_INT_STEP, 0, 0, -1, 1, 2};
  const int8_t want[] = {-128, 0, 127, 5};
  const int8_t near[] = {-127, 0, 126, 5};
  bm_compare_t result = compare(&policy, BM_DTYPE_I8, near, want, 4, 4);
  BM_EXPECT(result.ok && result.differing == 2);
  policy.max_differing = 1;
  result = compare(&policy, BM_DTYPE_I8, near, want, 4, 4);
  BM_EXPECT(!result.ok && result.differing == 2 && result.max_abs == 1);
}

// Each output has its own limit; a case reports the sum.
static void differing_elements_add_up(void) {
  const bm_golden_output_t policy = {BM_GOLDEN_INT_STEP, 0, 0, -1, 1, 1};
  int8_t got[] = {1, 2};
  const int8_t want[] = {1, 3};
  const uint32_t shape[] = {2};
  const bm_tensor_t tensor = {
      .data = got, .shape = shape, .rank = 1, .dtype = BM_DTYPE_I8, .bytes = 2};
  bm_compare_t result;
  bm_compare_begin(&result);
  bm_compare_output(&result, &policy, &tensor, want);
  bm_compare_output(&result, &policy, &tensor, want);
  BM_EXPECT(result.ok && result.differing == 2);
}

// The difference between the number that `bits` encode and `want`.
static double error_of(uint32_t dtype, uint64_t bits, double want) {
  const bm_golden_output_t policy = {BM_GOLDEN_FLOAT, 0, 0, -1, 0, 0};
  // max_abs against zero is the magnitude; the sign shows in argmax below.
  const uint64_t zero = 0;
  return compare(&policy, dtype, &bits, &zero, 1, 1).max_abs - want;
}

static void every_dtype_is_read(void) {
  BM_EXPECT(error_of(BM_DTYPE_BOOL, 1, 1) == 0);
  BM_EXPECT(error_of(BM_DTYPE_I8, 0x80, 128) == 0);
  BM_EXPECT(error_of(BM_DTYPE_U8, 0xFF, 255) == 0);
  BM_EXPECT(error_of(BM_DTYPE_I16, 0xFFFF, 1) == 0);
  BM_EXPECT(error_of(BM_DTYPE_U16, 0xFFFF, 65535) == 0);
  BM_EXPECT(error_of(BM_DTYPE_I32, 0xFFFFFFFF, 1) == 0);
  BM_EXPECT(error_of(BM_DTYPE_U32, 0xFFFFFFFF, 4294967295.0) == 0);
  BM_EXPECT(error_of(BM_DTYPE_I64, UINT64_MAX, 1) == 0);
  BM_EXPECT(error_of(BM_DTYPE_U64, UINT64_MAX, 18446744073709551615.0) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F16, 0x3C00, 1) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F16, 0xC248, 3.140625) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F16, 0x7BFF, 65504) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F16, 0x0001, 0x1p-24) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F16, 0x0400, 0x1p-14) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F16, 0x7C00, 0) == (double)INF);
  BM_EXPECT(error_of(BM_DTYPE_BF16, 0x4049, 3.140625) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F32, 0x3F800000, 1) == 0);
  BM_EXPECT(error_of(BM_DTYPE_F64, 0x3FF0000000000000, 1) == 0);
}

static void argmax_takes_the_first_largest(void) {
  const float values[] = {-5, 7, 7, 2};
  const int8_t signs[] = {-128, -1, -3};
  const uint32_t four[] = {4};
  const uint32_t three[] = {3};
  bm_tensor_t tensor = {.data = (void *)(uintptr_t)values,
                        .shape = four,
                        .rank = 1,
                        .dtype = BM_DTYPE_F32};
  BM_EXPECT_EQ(bm_compare_argmax(&tensor), 1);
  tensor.data = (void *)(uintptr_t)signs;
  tensor.shape = three;
  tensor.dtype = BM_DTYPE_I8;
  BM_EXPECT_EQ(bm_compare_argmax(&tensor), 1);
}

int main(void) {
  BM_TEST(float_policy_bounds);
  BM_TEST(float_policy_is_strict_about_nan_and_infinity);
  BM_TEST(maximum_is_kept);
  BM_TEST(cosine_is_checked_per_row);
  BM_TEST(cosine_of_zero_rows);
  BM_TEST(exact_policy_compares_bytes);
  BM_TEST(step_policy_allows_steps);
  BM_TEST(step_policy_limits_how_many_differ);
  BM_TEST(differing_elements_add_up);
  BM_TEST(every_dtype_is_read);
  BM_TEST(argmax_takes_the_first_largest);
  return bm_test_end();
}

// soft_float.c under other names, against C's definition of each function.
#define sqrtf tested_sqrtf
#define fmaximumf tested_fmaximumf
#define fminimumf tested_fminimumf
#define fmaximum_numf tested_fmaximum_numf
#define fminimum_numf tested_fminimum_numf
#define fmaxf tested_fmaxf
#define fminf tested_fminf
#define truncf tested_truncf
#define floorf tested_floorf
#define ceilf tested_ceilf
#define roundf tested_roundf
#define roundevenf tested_roundevenf
#define rintf tested_rintf
#define nearbyintf tested_nearbyintf
#define bm_fmaf tested_fmaf
#define sqrt __builtin_sqrt
#include "runtime_bm/crt/soft_float.c"  // NOLINT(bugprone-suspicious-include)
#undef sqrtf
#undef fmaximumf
#undef fminimumf
#undef fmaximum_numf
#undef fminimum_numf
#undef fmaxf
#undef fminf
#undef truncf
#undef floorf
#undef ceilf
#undef roundf
#undef roundevenf
#undef rintf
#undef nearbyintf
#undef bm_fmaf
#undef sqrt

#include <stddef.h>

#include "runtime_bm/testing/bm_test.h"

#define INFINITE __builtin_inff()
#define NAN_ __builtin_nanf("")

// Compares bits: -0 is not +0.
#define EXPECT_SAME(got, want) BM_EXPECT_EQ(bits_of(got), bits_of(want))

static void maxima_and_minima(void) {
  EXPECT_SAME(tested_fmaximumf(1.0f, 2.0f), 2.0f);
  EXPECT_SAME(tested_fmaximumf(-1.0f, -2.0f), -1.0f);
  EXPECT_SAME(tested_fmaximumf(-1.0f, 0.5f), 0.5f);
  EXPECT_SAME(tested_fmaximumf(-0.0f, 0.0f), 0.0f);
  EXPECT_SAME(tested_fmaximumf(-INFINITE, -1.0f), -1.0f);
  EXPECT_SAME(tested_fminimumf(1.0f, 2.0f), 1.0f);
  EXPECT_SAME(tested_fminimumf(0.0f, -0.0f), -0.0f);
  EXPECT_SAME(tested_fminimumf(INFINITE, 1.0f), 1.0f);
  BM_EXPECT(is_nan(bits_of(tested_fmaximumf(NAN_, 1.0f))));
  BM_EXPECT(is_nan(bits_of(tested_fminimumf(1.0f, NAN_))));
  EXPECT_SAME(tested_fmaxf(NAN_, 1.0f), 1.0f);
  EXPECT_SAME(tested_fminf(1.0f, NAN_), 1.0f);
  EXPECT_SAME(tested_fmaximum_numf(3.0f, NAN_), 3.0f);
  EXPECT_SAME(tested_fminimum_numf(NAN_, -3.0f), -3.0f);
  BM_EXPECT(is_nan(bits_of(tested_fmaxf(NAN_, NAN_))));
}

// An operand, and its floor, ceil, trunc, round and roundeven.
static void rounds_to_integers(void) {
  static const float kCases[][6] = {
      {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f},
      {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f},
      {0.25f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f},
      {-0.25f, -1.0f, -0.0f, -0.0f, -0.0f, -0.0f},
      {0.5f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f},
      {-0.5f, -1.0f, -0.0f, -0.0f, -1.0f, -0.0f},
      {0.75f, 0.0f, 1.0f, 0.0f, 1.0f, 1.0f},
      {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f},
      {1.5f, 1.0f, 2.0f, 1.0f, 2.0f, 2.0f},
      {2.5f, 2.0f, 3.0f, 2.0f, 3.0f, 2.0f},
      {-2.5f, -3.0f, -2.0f, -2.0f, -3.0f, -2.0f},
      {3.5f, 3.0f, 4.0f, 3.0f, 4.0f, 4.0f},
      {3.999f, 3.0f, 4.0f, 3.0f, 4.0f, 4.0f},
      {-1e-30f, -1.0f, -0.0f, -0.0f, -0.0f, -0.0f},
      {4194303.5f, 4194303.0f, 4194304.0f, 4194303.0f, 4194304.0f, 4194304.0f},
      {8388609.0f, 8388609.0f, 8388609.0f, 8388609.0f, 8388609.0f, 8388609.0f},
      {-1e30f, -1e30f, -1e30f, -1e30f, -1e30f, -1e30f},
  };
  for (size_t i = 0; i < sizeof(kCases) / sizeof(kCases[0]); ++i) {
    const float *want = kCases[i];
    EXPECT_SAME(tested_floorf(want[0]), want[1]);
    EXPECT_SAME(tested_ceilf(want[0]), want[2]);
    EXPECT_SAME(tested_truncf(want[0]), want[3]);
    EXPECT_SAME(tested_roundf(want[0]), want[4]);
    EXPECT_SAME(tested_roundevenf(want[0]), want[5]);
    EXPECT_SAME(tested_rintf(want[0]), want[5]);
    EXPECT_SAME(tested_nearbyintf(want[0]), want[5]);
  }
  EXPECT_SAME(tested_floorf(INFINITE), INFINITE);
  BM_EXPECT(is_nan(bits_of(tested_roundevenf(NAN_))));
}

static void takes_roots(void) {
  EXPECT_SAME(tested_sqrtf(2.25f), 1.5f);
  EXPECT_SAME(tested_sqrtf(2.0f), 0x1.6a09e6p+0f);
  EXPECT_SAME(tested_sqrtf(0x1p-149f), 0x1.6a09e6p-75f);
}

// Operands at every edge: zeros, subnormals, ones and their neighbors, powers
// that overflow and underflow, infinities.
static const uint32_t kEdges[] = {
    0,          1,          0x007FFFFF, 0x00800000, 0x00800001, 0x1F800000,
    0x20000000, 0x33800000, 0x34000000, 0x3F7FFFFF, ONE,        0x3F800001,
    0x4B800000, 0x7F000000, 0x7F7FFFFF, 0x7F800000,
};

// In doubles the product is exact, and so is the error of the sum. If that
// error makes the last digit odd, rounding it is the same as rounding all
// digits.
static float expected_fma(float x, float y, float z) {
  const double product = (double)x * (double)y;
  double sum = product + (double)z;
  const double part = sum - product;
  const double error = (product - (sum - part)) + ((double)z - part);
  uint64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof(bits));
  // Infinities have no rounding error.
  if (error - error == 0 && error != 0 && (bits & 1) == 0) {
    bits += (error > 0) == (sum > 0) ? 1u : ~0ull;
  }
  __builtin_memcpy(&sum, &bits, sizeof(sum));
  return (float)sum;
}

static bool multiplies_and_adds(uint32_t a, uint32_t b, uint32_t c) {
  const float x = from_bits(a);
  const float y = from_bits(b);
  const float z = from_bits(c);
  const uint32_t got = bits_of(tested_fmaf(x, y, z));
  const uint32_t want = bits_of(expected_fma(x, y, z));
#ifdef __riscv_flen
  // The hart's own instruction.
  const uint32_t fused = bits_of(__builtin_fmaf(x, y, z));
  if (!BM_EXPECT(fused == got || (is_nan(fused) && is_nan(got)))) return false;
#endif
  return BM_EXPECT(want == got || (is_nan(want) && is_nan(got)));
}

static void multiplies_and_adds_at_the_edges(void) {
  enum { EDGES = sizeof(kEdges) / sizeof(kEdges[0]) };
  for (uint32_t i = 0; i < 8 * EDGES * EDGES * EDGES; ++i) {
    const uint32_t edges = i >> 3;
    const uint32_t a = kEdges[edges % EDGES] | i << 31;
    const uint32_t b = kEdges[edges / EDGES % EDGES] | (i >> 1) << 31;
    const uint32_t c = kEdges[edges / EDGES / EDGES] | (i >> 2) << 31;
    if (!multiplies_and_adds(a, b, c)) return;
  }
  // A tie, which the smallest addend decides.
  const float x = 0x1.000002p+0f;
  EXPECT_SAME(tested_fmaf(x, 1.5f, 0.0f), 0x1.800004p+0f);
  EXPECT_SAME(tested_fmaf(x, 1.5f, -0x1p-63f), 0x1.800002p+0f);
  BM_EXPECT(is_nan(bits_of(tested_fmaf(NAN_, 0.0f, 1.0f))));
  BM_EXPECT(is_nan(bits_of(tested_fmaf(1.0f, 1.0f, NAN_))));
}

static void multiplies_and_adds_any_bits(void) {
  uint64_t bits = 1;
  for (uint32_t i = 0; i < 3000; ++i) {
    uint32_t operands[3];
    for (uint32_t j = 0; j < 3; ++j) {
      bits = bits * 6364136223846793005u + 1442695040888963407u;
      operands[j] = (uint32_t)(bits >> 32);
    }
    const uint32_t a = operands[0];
    const uint32_t b = operands[1];
    // Any sum, and one where almost all digits cancel.
    const uint32_t product = bits_of(-(from_bits(a) * from_bits(b)));
    if (!multiplies_and_adds(a, b, operands[2])) return;
    if (!multiplies_and_adds(a, b, product ^ (operands[2] & 7))) return;
  }
}

int main(void) {
  BM_TEST(maxima_and_minima);
  BM_TEST(rounds_to_integers);
  BM_TEST(takes_roots);
  BM_TEST(multiplies_and_adds_at_the_edges);
  BM_TEST(multiplies_and_adds_any_bits);
  return bm_test_end();
}

// soft_float.c under names of its own, against what C says of each function.
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

// Operand, and what floor, ceil, trunc, round and roundeven make of it.
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

int main(void) {
  BM_TEST(maxima_and_minima);
  BM_TEST(rounds_to_integers);
  BM_TEST(takes_roots);
  return bm_test_end();
}

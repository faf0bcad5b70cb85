// sqrt.c under another name, against the processor's instruction if there is
// one.
#define sqrt tested_sqrt
#include "runtime_bm/crt/sqrt.c"  // NOLINT(bugprone-suspicious-include)
#undef sqrt

#include <stdbool.h>

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static void squares_are_exact(void) {
  for (uint32_t i = 0; i < 2000; ++i) {
    const double root = (double)i * 0x1.8p-3;
    if (!BM_EXPECT(tested_sqrt(root * root) == root)) return;
  }
}

static void knows_the_special_values(void) {
  const double infinity = __builtin_inf();
  BM_EXPECT(bits_of(tested_sqrt(-0.0)) == bits_of(-0.0));
  BM_EXPECT(tested_sqrt(infinity) == infinity);
  BM_EXPECT(tested_sqrt(-1.0) != tested_sqrt(-1.0));
  BM_EXPECT(tested_sqrt(-infinity) != tested_sqrt(-infinity));
  BM_EXPECT(tested_sqrt(__builtin_nan("")) != tested_sqrt(1.0));
  BM_EXPECT_EQ(bits_of(tested_sqrt(2.0)), 0x3FF6A09E667F3BCD);
  BM_EXPECT_EQ(bits_of(tested_sqrt(3.0)), 0x3FFBB67AE8584CAA);
  // The smallest number, 2^-1074, and the largest.
  BM_EXPECT_EQ(bits_of(tested_sqrt(from_bits(1))), bits_of(0x1p-537));
  BM_EXPECT_EQ(bits_of(tested_sqrt(from_bits(0x7FEFFFFFFFFFFFFF))),
               0x5FEFFFFFFFFFFFFF);
}

// Random bits from a generator that reaches all exponents.
static void agrees_with_the_processor(void) {
  uint64_t bits = 1;
  for (uint32_t i = 0; i < 2000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const double x = from_bits(bits >> 1);
    const double want = __builtin_sqrt(x);
    if (want != want) continue;
    if (!BM_EXPECT_EQ(bits_of(tested_sqrt(x)), bits_of(want))) return;
  }
}

int main(void) {
  BM_TEST(squares_are_exact);
  BM_TEST(knows_the_special_values);
  BM_TEST(agrees_with_the_processor);
  return bm_test_end();
}

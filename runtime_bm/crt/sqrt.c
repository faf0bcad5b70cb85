// What a freestanding compiler calls for a square root if the processor has no
// instruction for it. Correctly rounded, so every hart gives the same result.
#include <stdint.h>

enum { MANTISSA_BITS = 52, EXPONENT_MASK = 0x7FF, BIAS = 1075 };

#define ONE (1ull << MANTISSA_BITS)

double sqrt(double x);

// The square root of value * 2^54, rounded down: 54 binary digits, each from
// two digits of the operand, as on paper.
static uint64_t root_of(uint64_t value) {
  uint64_t root = 0;
  uint64_t rest = 0;
  for (int shift = MANTISSA_BITS; shift > -56; shift -= 2) {
    rest = rest << 2 | (shift >= 0 ? value >> shift & 3 : 0);
    root <<= 1;
    if (rest > root << 1) {
      rest -= (root << 1) + 1;
      ++root;
    }
  }
  return root;
}

double sqrt(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  int32_t exponent = (int32_t)(bits >> MANTISSA_BITS) & EXPONENT_MASK;
  uint64_t mantissa = bits & (ONE - 1);
  if (bits << 1 == 0 || (exponent == EXPONENT_MASK && bits >> 63 == 0)) {
    return x;  // zero, infinity, NaN
  }
  if (bits >> 63 != 0) return __builtin_nan("");
  if (exponent == 0) {
    for (exponent = 1; mantissa < ONE; --exponent) mantissa <<= 1;
  }
  mantissa |= ONE;
  // x = mantissa * 2^exponent, with an even exponent.
  exponent -= BIAS;
  if (exponent % 2 != 0) {
    mantissa <<= 1;
    --exponent;
  }
  // The last digit rounds. It is never exactly half: a root that ends there
  // would have a square with more digits than x.
  const uint64_t rounded = (root_of(mantissa) + 1) >> 1;
  bits = ((uint64_t)(exponent / 2 - 26 + BIAS - 1) << MANTISSA_BITS) + rounded;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

// The functions besides libgcc's arithmetic that kernels call on a hart without
// F. They work on bits only, so no compiler turns one into a call to itself.
#include <stdbool.h>
#include <stdint.h>

enum { MANTISSA_BITS = 23, BIAS = 127 };

#define SIGN 0x80000000u
#define INFINITY_BITS 0x7F800000u
#define QUIET_NAN 0x7FC00000u
#define ONE 0x3F800000u
#define HALF 0x3F000000u

double sqrt(double x);
float sqrtf(float x);
float fmaximumf(float x, float y);
float fminimumf(float x, float y);
float fmaximum_numf(float x, float y);
float fminimum_numf(float x, float y);
float fmaxf(float x, float y);
float fminf(float x, float y);
float truncf(float x);
float floorf(float x);
float ceilf(float x);
float roundf(float x);
float roundevenf(float x);
float rintf(float x);
float nearbyintf(float x);
float bm_fmaf(float x, float y, float z);

static uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static float from_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

static bool is_nan(uint32_t bits) { return (bits & ~SIGN) > INFINITY_BITS; }

// Maps numbers to integers in the same order, -0 below +0.
static bool less(uint32_t a, uint32_t b) {
  const uint32_t key_a = (a & SIGN) != 0 ? ~a : a | SIGN;
  const uint32_t key_b = (b & SIGN) != 0 ? ~b : b | SIGN;
  return key_a < key_b;
}

// A double has over twice a float's digits: rounding twice does no harm.
float sqrtf(float x) { return (float)sqrt((double)x); }

static float pick(float x, float y, bool smaller, bool nan_wins) {
  const uint32_t a = bits_of(x);
  const uint32_t b = bits_of(y);
  if (is_nan(a) || is_nan(b)) {
    if (nan_wins || (is_nan(a) && is_nan(b))) return from_bits(QUIET_NAN);
    return is_nan(a) ? y : x;
  }
  return less(a, b) == smaller ? x : y;
}

float fmaximumf(float x, float y) { return pick(x, y, false, true); }
float fminimumf(float x, float y) { return pick(x, y, true, true); }
float fmaximum_numf(float x, float y) { return pick(x, y, false, false); }
float fminimum_numf(float x, float y) { return pick(x, y, true, false); }
float fmaxf(float x, float y) { return pick(x, y, false, false); }
float fminf(float x, float y) { return pick(x, y, true, false); }

typedef enum rounding_t { DOWN, UP, TO_ZERO, AWAY, TO_EVEN } rounding_t;

// Rounds to an integer; the last two choose how halves round.
static float rounded(float x, rounding_t how) {
  const uint32_t bits = bits_of(x);
  const uint32_t sign = bits & SIGN;
  const uint32_t magnitude = bits & ~SIGN;
  const int32_t exponent = (int32_t)(magnitude >> MANTISSA_BITS) - BIAS;
  if (exponent >= MANTISSA_BITS || magnitude == 0) return x;
  const bool outwards = how == (sign != 0 ? DOWN : UP);
  if (exponent < 0) {
    const bool one = outwards || (how == AWAY && magnitude >= HALF) ||
                     (how == TO_EVEN && magnitude > HALF);
    return from_bits(sign | (one ? ONE : 0));
  }
  // A carry continues into the exponent, as it should.
  const uint32_t fraction = (1u << (MANTISSA_BITS - exponent)) - 1;
  const uint32_t half = (fraction >> 1) + 1;
  const uint32_t odd = exponent == 0 || (magnitude & (fraction + 1)) != 0;
  uint32_t add = 0;
  if (outwards) add = fraction;
  if (how == AWAY) add = half;
  if (how == TO_EVEN) add = half - 1 + odd;
  return from_bits(sign | ((magnitude + add) & ~fraction));
}

float floorf(float x) { return rounded(x, DOWN); }
float ceilf(float x) { return rounded(x, UP); }
float truncf(float x) { return rounded(x, TO_ZERO); }
float roundf(float x) { return rounded(x, AWAY); }
float roundevenf(float x) { return rounded(x, TO_EVEN); }
float rintf(float x) { return rounded(x, TO_EVEN); }
float nearbyintf(float x) { return rounded(x, TO_EVEN); }

// mantissa * 2^exponent.
typedef struct number_t {
  uint64_t mantissa;
  int32_t exponent;
  uint32_t sign;
} number_t;

static number_t number_of(uint32_t bits) {
  const uint32_t field = bits >> MANTISSA_BITS & 0xFF;
  const uint32_t fraction = bits & ((1u << MANTISSA_BITS) - 1);
  const number_t number = {
      .mantissa = field == 0 ? fraction : fraction | 1u << MANTISSA_BITS,
      .exponent = (int32_t)(field == 0 ? 1 : field) - BIAS - MANTISSA_BITS,
      .sign = bits & SIGN,
  };
  return number;
}

// Shifts left until the first digit is at bit `place`.
static number_t normalized(number_t number, int32_t place) {
  const int32_t shift = __builtin_clzll(number.mantissa) - 63 + place;
  number.mantissa <<= shift;
  number.exponent -= shift;
  return number;
}

// Shifts right; the last digit becomes 1 if any digit shifted out was 1.
static uint64_t shifted(uint64_t mantissa, int32_t count) {
  if (count == 0) return mantissa;
  if (count > 63) return mantissa != 0;
  return mantissa >> count | ((mantissa << (64 - count)) != 0);
}

// The nearest float to a nonzero number, ties to even.
static float nearest(number_t number) {
  enum { DROPPED = 63 - MANTISSA_BITS };
  const uint64_t half = 1ull << (DROPPED - 1);
  number = normalized(number, 63);
  int32_t field = number.exponent + 63 + BIAS;
  if (field >= 0xFF) return from_bits(number.sign | INFINITY_BITS);
  if (field < 1) {
    number.mantissa = shifted(number.mantissa, 1 - field);
    field = 1;
  }
  uint32_t kept = (uint32_t)(number.mantissa >> DROPPED);
  const uint64_t rest = number.mantissa & (2 * half - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // The first digit, and a carry, continue into the exponent.
  return from_bits(number.sign |
                   (((uint32_t)(field - 1) << MANTISSA_BITS) + kept));
}

// x * y + z if an operand is infinite or NaN, or the product is zero.
static float fma_of_special(uint32_t x, uint32_t y, uint32_t z) {
  const uint32_t sign = (x ^ y) & SIGN;
  const uint32_t a = x & ~SIGN;
  const uint32_t b = y & ~SIGN;
  const uint32_t c = z & ~SIGN;
  const bool infinite = a == INFINITY_BITS || b == INFINITY_BITS;
  if (is_nan(x) || is_nan(y) || is_nan(z) ||
      (infinite &&
       (a == 0 || b == 0 || (c == INFINITY_BITS && sign != (z & SIGN))))) {
    return from_bits(QUIET_NAN);
  }
  if (infinite) return from_bits(sign | INFINITY_BITS);
  // The product is zero, or z infinite.
  return c == 0 ? from_bits(sign & z) : from_bits(z);
}

// x * y + z, rounded once. IREE's own fmaf for 32 bits is empty.
float bm_fmaf(float x, float y, float z) {
  const uint32_t a = bits_of(x);
  const uint32_t b = bits_of(y);
  const uint32_t c = bits_of(z);
  const bool finite = (a & ~SIGN) < INFINITY_BITS &&
                      (b & ~SIGN) < INFINITY_BITS &&
                      (c & ~SIGN) < INFINITY_BITS;
  if (!finite || (a & ~SIGN) == 0 || (b & ~SIGN) == 0) {
    return fma_of_special(a, b, c);
  }
  const number_t left = number_of(a);
  const number_t right = number_of(b);
  // At most 48 digits: the product is exact.
  number_t sum = {.mantissa = left.mantissa * right.mantissa,
                  .exponent = left.exponent + right.exponent,
                  .sign = left.sign ^ right.sign};
  if ((c & ~SIGN) == 0) return nearest(sum);
  // Bit 63 is for a carry.
  sum = normalized(sum, 62);
  number_t other = normalized(number_of(c), 62);
  if (other.exponent > sum.exponent ||
      (other.exponent == sum.exponent && other.mantissa > sum.mantissa)) {
    const number_t larger = other;
    other = sum;
    sum = larger;
  }
  const uint64_t addend =
      shifted(other.mantissa, sum.exponent - other.exponent);
  if (sum.sign == other.sign) {
    sum.mantissa += addend;
  } else {
    sum.mantissa -= addend;
  }
  return sum.mantissa == 0 ? 0.0f : nearest(sum);
}

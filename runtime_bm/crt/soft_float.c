// What kernels call on a hart without F besides the arithmetic of libgcc. Works
// on the bits alone: no compiler makes a call of itself out of that.
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

// Orders numbers as integers, -0 below +0.
static bool less(uint32_t a, uint32_t b) {
  const uint32_t key_a = (a & SIGN) != 0 ? ~a : a | SIGN;
  const uint32_t key_b = (b & SIGN) != 0 ? ~b : b | SIGN;
  return key_a < key_b;
}

// A double has more than twice a float's digits: rounding twice does no harm.
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

// Rounds to an integer; the last two say what becomes of halves.
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
  // A carry goes on into the exponent, as it should.
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

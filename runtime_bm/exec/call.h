// What bmc writes calls of kernel libraries with. A call takes the place of a
// kernel, so it is called like one. Where a library computes only sums, the
// operations here make results of them, as IREE's kernel would.
#ifndef RUNTIME_BM_EXEC_CALL_H_
#define RUNTIME_BM_EXEC_CALL_H_

#include <stdint.h>

#include "runtime_bm/abi/executable_library.h"

// Begins a function that bm_dispatcher_run calls. Its body may use BM_CALL_AT,
// and returns 0 if it could.
#define BM_CALL(name)                                              \
  static int name(const bm_abi_environment_t *bm_call_environment, \
                  const bm_abi_dispatch_state_t *bm_call_state,    \
                  const bm_abi_workgroup_state_t *bm_call_workgroup)

// The address `offset` bytes into a binding.
#define BM_CALL_AT(binding, offset) \
  ((void *)((uint8_t *)bm_call_state->binding_pointers[binding] + (offset)))

// Says that a call does not look at what all kernels get.
#define BM_CALL_BEGIN()        \
  do {                         \
    (void)bm_call_environment; \
    (void)bm_call_workgroup;   \
  } while (0)

// Integers of 32 bits wrap around.
static inline int32_t bm_call_add(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t bm_call_subtract(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t bm_call_multiply(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a * (uint32_t)b);
}

static inline int32_t bm_call_multiply_high(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b) >> 32);
}

static inline int32_t bm_call_shift_left(int32_t a, int32_t bits) {
  return (int32_t)((uint32_t)a << (bits & 31));
}

static inline int32_t bm_call_shift_right(int32_t a, int32_t bits) {
  return a >> (bits & 31);
}

static inline int32_t bm_call_shift_right_unsigned(int32_t a, int32_t bits) {
  return (int32_t)((uint32_t)a >> (bits & 31));
}

static inline int32_t bm_call_min(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static inline int32_t bm_call_max(int32_t a, int32_t b) {
  return a > b ? a : b;
}

// a * b / 2^31, to nearest, up in the middle.
static inline int32_t bm_call_scaled(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

// a / 2^bits, to nearest, up in the middle.
static inline int32_t bm_call_rounded(int32_t a, int32_t bits) {
  return (int32_t)(((int64_t)a + ((int64_t)1 << bits >> 1)) >> bits);
}

// The same, plus `zero`, limited.
static inline int32_t bm_call_clipped(int32_t a, int32_t bits, int32_t zero,
                                      int32_t low, int32_t high) {
  const int64_t value = (int64_t)bm_call_rounded(a, bits) + zero;
  return (int32_t)(value < low ? low : value > high ? high : value);
}

// a plus 1 if `sum` is less than a term of it, as unsigned numbers.
static inline int32_t bm_call_carried(int32_t a, int32_t sum, int32_t term) {
  return bm_call_add(a, (uint32_t)sum < (uint32_t)term);
}

static inline float bm_call_float_of_bits(int32_t bits) {
  const union {
    int32_t bits;
    float value;
  } both = {.bits = bits};
  return both.value;
}

static inline int32_t bm_call_bits_of_float(float value) {
  const union {
    float value;
    int32_t bits;
  } both = {.value = value};
  return both.bits;
}

// Rounds toward zero. What does not fit becomes the nearest that does, and a
// NaN the largest, as RISC-V converts.
static inline int32_t bm_call_int_of_float(float value) {
  if (!(value < 2147483648.0f)) return INT32_MAX;
  return value <= -2147483648.0f ? INT32_MIN : (int32_t)value;
}

// One of them if the other is a NaN.
static inline float bm_call_min_number(float a, float b) {
  return b != b || a < b ? a : b;
}

static inline float bm_call_max_number(float a, float b) {
  return b != b || a > b ? a : b;
}

// A NaN if one of them is.
static inline float bm_call_minimum(float a, float b) {
  return a != a || a < b ? a : b;
}

static inline float bm_call_maximum(float a, float b) {
  return a != a || a > b ? a : b;
}

// a * b + c; the product is exact.
static inline float bm_call_multiply_add(float a, float b, float c) {
  return (float)((double)a * b + c);
}

#endif  // RUNTIME_BM_EXEC_CALL_H_

// From sums to int8, two at once.
#ifndef KERNELS_PACKED_SIMD_REQUANTIZE_H_
#define KERNELS_PACKED_SIMD_REQUANTIZE_H_

#include <stdint.h>

#include "kernels/packed_simd/instructions.h"

// What is the same for all results. Numbers are in both words of a register.
typedef struct requantize_t {
  const int32_t *biases;
  const uint64_t *multipliers;
  const int32_t *shifts;
  uint64_t zero;
  uint64_t low;
  uint64_t high;
  int down_if_negative;
} requantize_t;

PACKED_INLINE uint64_t in_both(int32_t number) {
  return (uint64_t)(uint32_t)number << 32 | (uint32_t)number;
}

// `params` are those of a function that ends in _i8.
#define REQUANTIZE(params, biases, multipliers, shifts) \
  {(biases),                                            \
   (multipliers),                                       \
   (shifts),                                            \
   in_both((params)->zero),                             \
   in_both((params)->low),                              \
   in_both((params)->high),                             \
   (params)->down_if_negative}

PACKED_INLINE uint64_t scaled(const requantize_t *how, uint64_t sums,
                              uint64_t multipliers) {
  const uint64_t values = pmulqr_w(sums, multipliers);
  return how->down_if_negative ? padd_w(values, packed_signs(sums)) : values;
}

PACKED_INLINE uint64_t limited(const requantize_t *how, uint64_t values) {
  return pmin_w(pmax_w(psadd_w(values, how->zero), how->low), how->high);
}

PACKED_INLINE uint64_t shifted(const requantize_t *how, uint64_t values,
                               int32_t shift) {
  return limited(how, psshar_ws(values, (uint64_t)(int64_t)shift));
}

#endif  // KERNELS_PACKED_SIMD_REQUANTIZE_H_

// Arithmetic on sizes that are not trusted yet. Range checks subtract and never
// add, so nothing can wrap around. Do no other arithmetic on untrusted sizes.
#ifndef RUNTIME_BM_BASE_RANGE_H_
#define RUNTIME_BM_BASE_RANGE_H_

#include <stdbool.h>
#include <stdint.h>

// True when [offset, offset + length) is within [0, size).
static inline bool bm_range_fits(uint64_t offset, uint64_t length,
                                 uint64_t size) {
  return offset <= size && length <= size - offset;
}

// True when [a, a + a_length) and [b, b + b_length) share a byte. Both ranges
// must already be known not to wrap.
static inline bool bm_range_overlaps(uint64_t a, uint64_t a_length, uint64_t b,
                                     uint64_t b_length) {
  return a < b ? a_length > b - a : b_length > a - b;
}

// True when `value` is a multiple of `alignment`, a power of two.
static inline bool bm_is_aligned(uint64_t value, uint64_t alignment) {
  return (value & (alignment - 1)) == 0;
}

#endif  // RUNTIME_BM_BASE_RANGE_H_

// Checks over constant bytes, which the build makes and the target repeats.
//
// A row names a range. After linking, tools/actions/seal computes the sum of
// each range from the bytes in the image and fills in the rows.
#ifndef RUNTIME_BM_BASE_CHECK_H_
#define RUNTIME_BM_BASE_CHECK_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/status.h"

BM_EXTERN_C_BEGIN

// Two sums modulo 2^64 over little-endian 32-bit words w[0..n):
//
//   words   w[0] + w[1] + ... + w[n-1]
//   places  n * w[0] + (n-1) * w[1] + ... + 1 * w[n-1]
//
// Any change within two adjacent words and any two changed bits differ in one
// of them, for up to 2^32 words. No table and no multiplication: 15
// instructions for 16 bytes on 64 bits, 39 on 32 bits.
typedef struct bm_sum_t {
  uint64_t words;
  uint64_t places;
} bm_sum_t;

// Extends `sum` by `count` words; start with zeros.
void bm_sum_extend(bm_sum_t *sum, const void *words, size_t count);

// The row of a range that is aligned to 4 bytes at both ends.
typedef struct bm_check_t {
  const uint8_t *start;
  const uint8_t *end;
  // Filled in by tools/actions/seal.
  bm_sum_t sum;
  // ~(start ^ end), so that a damaged row cannot lead to other memory. 0: the
  // row was not filled in.
  uintptr_t guard;
} bm_check_t;

BM_ABI_SIZE(bm_check_t, 40, 32);

// Places an array of rows where tools/actions/seal finds it: rows and nothing
// else, so the alignment is stated. Code that reads rows must be in another
// file, or a compiler would use the zeros it sees.
#define BM_CHECKS __attribute__((section(".bm.checks"), aligned(8)))

// How far a verification has come. Begin with zeros.
typedef struct bm_verify_t {
  uint32_t part;  // number of the row
  // Private: bytes of that row that are done, and their sum.
  size_t bytes;
  bm_sum_t sum;
} bm_verify_t;

// Verifies the next `bytes` bytes (at least 4) of the range of row at->part,
// at most up to its end; then at->part is the next row.
// Errors: DAMAGED when the bytes of the range, or the row itself, are not those
// that were built; FAILED_PRECONDITION when the row was not filled in.
BM_MUST_USE bm_status_t bm_check_step(const bm_check_t *rows, size_t bytes,
                                      bm_verify_t *at);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_BASE_CHECK_H_

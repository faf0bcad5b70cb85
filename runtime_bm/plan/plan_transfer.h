// The commands that move bytes: FILL and COPY.
#ifndef RUNTIME_BM_PLAN_PLAN_TRANSFER_H_
#define RUNTIME_BM_PLAN_PLAN_TRANSFER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// `vectors` says that this hart has vectors and that they are on. Firmware C
// is compiled without them, so the one who calls must know.

// Fills `length` bytes with the first `pattern_bytes` (1, 2 or 4) bytes of
// `pattern`. `target` and `length` are multiples of `pattern_bytes`.
void bm_plan_fill(void *target, size_t length, uint32_t pattern,
                  uint32_t pattern_bytes, bool vectors);

// Copies `length` bytes between ranges that do not overlap.
void bm_plan_copy(void *target, const void *source, size_t length,
                  bool vectors);

#endif  // RUNTIME_BM_PLAN_PLAN_TRANSFER_H_

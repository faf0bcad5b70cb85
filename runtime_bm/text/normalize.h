// Normalizers: a text becomes another one, in one of two buffers.
#ifndef RUNTIME_BM_TEXT_NORMALIZE_H_
#define RUNTIME_BM_TEXT_NORMALIZE_H_

#include <stdbool.h>
#include <stddef.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/text/tables.h"

BM_EXTERN_C_BEGIN

// A text that is being written.
typedef struct bm_bytes_t {
  uint8_t *data;
  size_t size;
  size_t capacity;
} bm_bytes_t;

// Appends bytes. Error: RESOURCE_EXHAUSTED.
BM_MUST_USE bm_status_t bm_bytes_put(bm_bytes_t *bytes, bm_cspan_t more);

// Takes the steps of `normalizers`, from (*text) to (*other) and back, and
// swaps the two so that *text is the result. *is_first says whether the text
// begins a whole one, and whether the result does: not if its first character
// went. Error: RESOURCE_EXHAUSTED.
BM_MUST_USE bm_status_t bm_normalize(const bm_normalizers_t *normalizers,
                                     bool *is_first, bm_bytes_t *text,
                                     bm_bytes_t *other);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_NORMALIZE_H_

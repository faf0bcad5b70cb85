// A range of bytes that somebody else owns.
#ifndef RUNTIME_BM_BASE_SPAN_H_
#define RUNTIME_BM_BASE_SPAN_H_

#include <stddef.h>
#include <stdint.h>

typedef struct bm_span_t {
  uint8_t *data;
  size_t size;
} bm_span_t;

typedef struct bm_cspan_t {
  const uint8_t *data;
  size_t size;
} bm_cspan_t;

#endif  // RUNTIME_BM_BASE_SPAN_H_

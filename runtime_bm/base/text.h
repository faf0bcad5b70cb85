// Formats one line of text in a fixed buffer: the part of printf that a console
// needs, without libc. Text that does not fit is cut off.
#ifndef RUNTIME_BM_BASE_TEXT_H_
#define RUNTIME_BM_BASE_TEXT_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

enum { BM_TEXT_BYTES = 256 };

typedef struct bm_text_t {
  size_t size;
  char bytes[BM_TEXT_BYTES];
} bm_text_t;

static inline void bm_text_clear(bm_text_t *text) { text->size = 0; }

// Appends a NUL-terminated string.
void bm_text_string(bm_text_t *text, const char *string);

// Appends another line.
void bm_text_append(bm_text_t *text, const bm_text_t *other);

// Appends a decimal number.
void bm_text_u64(bm_text_t *text, uint64_t value);
void bm_text_i64(bm_text_t *text, int64_t value);

// Appends a hexadecimal number with at least `digits` lower-case digits.
void bm_text_hex(bm_text_t *text, uint64_t value, uint32_t digits);

// Appends `value` with 7 significant digits as d.dddddde[-]dd, or "0", "nan",
// "inf" or "-inf". The same bits give the same text everywhere, but the last
// digit may not be correctly rounded.
void bm_text_f64(bm_text_t *text, double value);

// Appends `value` with `decimals` (0..9) digits after the point. Uses the
// scientific form when |value| does not fit 10^9.
void bm_text_fixed(bm_text_t *text, double value, uint32_t decimals);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_BASE_TEXT_H_

#include "runtime_bm/base/text.h"

#include <stdbool.h>

// With fused multiply-add, the printed digits would depend on the machine.
#pragma STDC FP_CONTRACT OFF

static void append(bm_text_t *text, char c) {
  if (text->size < BM_TEXT_BYTES) text->bytes[text->size++] = c;
}

void bm_text_string(bm_text_t *text, const char *string) {
  for (; *string != '\0'; ++string) append(text, *string);
}

void bm_text_append(bm_text_t *text, const bm_text_t *other) {
  for (size_t i = 0; i < other->size; ++i) append(text, other->bytes[i]);
}

// Appends `value` with at least `digits` decimal digits.
static void append_decimal(bm_text_t *text, uint64_t value, uint32_t digits) {
  char reversed[20];
  uint32_t count = 0;
  do {
    reversed[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0 || count < digits);
  while (count > 0) append(text, reversed[--count]);
}

void bm_text_u64(bm_text_t *text, uint64_t value) {
  append_decimal(text, value, 1);
}

void bm_text_i64(bm_text_t *text, int64_t value) {
  if (value < 0) append(text, '-');
  // Negating in unsigned arithmetic is defined for INT64_MIN too.
  append_decimal(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1);
}

void bm_text_hex(bm_text_t *text, uint64_t value, uint32_t digits) {
  while (digits < 16 && (value >> (digits * 4)) != 0) ++digits;
  for (; digits > 0; --digits) {
    append(text, "0123456789abcdef"[(value >> ((digits - 1) * 4)) & 0xF]);
  }
}

// Writes a value without digits, or else just the sign. Returns true when
// nothing is left to write.
static bool append_special(bm_text_t *text, double value) {
  if (value != value) {
    bm_text_string(text, "nan");
    return true;
  }
  if (value < 0) append(text, '-');
  const double magnitude = value < 0 ? -value : value;
  if (magnitude > 1.7976931348623157e308) {
    bm_text_string(text, "inf");
    return true;
  }
  return false;
}

void bm_text_f64(bm_text_t *text, double value) {
  if (append_special(text, value)) return;
  double magnitude = value < 0 ? -value : value;
  if (magnitude == 0) {
    append(text, '0');
    return;
  }
  int32_t exponent = 0;
  while (magnitude >= 10.0) {
    magnitude /= 10.0;
    ++exponent;
  }
  while (magnitude < 1.0) {
    magnitude *= 10.0;
    --exponent;
  }
  uint64_t digits = (uint64_t)(magnitude * 1e6 + 0.5);
  if (digits == 10000000) {  // 9.9999996 rounds up to the next decade
    digits = 1000000;
    ++exponent;
  }
  append_decimal(text, digits / 1000000, 1);
  append(text, '.');
  append_decimal(text, digits % 1000000, 6);
  append(text, 'e');
  if (exponent < 0) append(text, '-');
  append_decimal(text, (uint64_t)(exponent < 0 ? -exponent : exponent), 2);
}

void bm_text_fixed(bm_text_t *text, double value, uint32_t decimals) {
  const double magnitude = value < 0 ? -value : value;
  if (!(magnitude < 1e9)) {
    bm_text_f64(text, value);
    return;
  }
  uint64_t scale = 1;
  for (uint32_t i = 0; i < decimals; ++i) scale *= 10;
  const uint64_t scaled = (uint64_t)(magnitude * (double)scale + 0.5);
  if (value < 0 && scaled != 0) append(text, '-');
  append_decimal(text, scaled / scale, 1);
  if (decimals == 0) return;
  append(text, '.');
  append_decimal(text, scaled % scale, decimals);
}

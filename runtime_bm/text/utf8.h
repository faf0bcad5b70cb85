// UTF-8: characters of texts that have been checked, and the check.
#ifndef RUNTIME_BM_TEXT_UTF8_H_
#define RUNTIME_BM_TEXT_UTF8_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A character has at most so many bytes.
enum { BM_UTF8_BYTES = 4 };

// Returns how many bytes a character has, of which this is the first, or 0 if
// none begins with it.
static inline uint32_t bm_utf8_size(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// Returns whether `byte` may be number `index` (from 1) of a character that
// begins with `first`. Overlong forms and surrogates are no characters.
static inline bool bm_utf8_continues(uint8_t first, uint32_t index,
                                     uint8_t byte) {
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (index == 1) {
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  return byte >= low && byte <= high;
}

// Returns whether all of a text is characters.
static inline bool bm_utf8_valid(const uint8_t *text, size_t size) {
  for (size_t at = 0; at < size;) {
    const uint32_t count = bm_utf8_size(text[at]);
    if (count == 0 || count > size - at) return false;
    for (uint32_t i = 1; i < count; ++i) {
      if (!bm_utf8_continues(text[at], i, text[at + i])) return false;
    }
    at += count;
  }
  return true;
}

// Returns the character at *at, and moves *at behind it.
static inline uint32_t bm_utf8_next(const uint8_t *text, size_t *at) {
  const uint8_t first = text[*at];
  const uint32_t count = bm_utf8_size(first);
  uint32_t code_point = count == 1 ? first : first & (0x7Fu >> count);
  for (uint32_t i = 1; i < count; ++i) {
    code_point = code_point << 6 | (text[*at + i] & 0x3F);
  }
  *at += count;
  return code_point;
}

// Returns where the character before `at` begins, which is not 0.
static inline size_t bm_utf8_before(const uint8_t *text, size_t at) {
  do {
    --at;
  } while ((text[at] & 0xC0) == 0x80);
  return at;
}

// Writes a character; returns its bytes.
static inline uint32_t bm_utf8_put(uint8_t *out, uint32_t code_point) {
  if (code_point < 0x80) {
    out[0] = (uint8_t)code_point;
    return 1;
  }
  const uint32_t count = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  for (uint32_t i = count - 1; i != 0; --i) {
    out[i] = 0x80 | (code_point & 0x3F);
    code_point >>= 6;
  }
  out[0] = (uint8_t)(0xF00u >> count) | (uint8_t)code_point;
  return count;
}

#endif  // RUNTIME_BM_TEXT_UTF8_H_

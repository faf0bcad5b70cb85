// The functions that a freestanding compiler may call on its own. They use
// whole words if both sides are aligned: FILL, COPY and setting inputs go
// through here.
#include "runtime_bm/base/memory.h"

#include <stdbool.h>
#include <stdint.h>

// May alias anything, as memory functions must.
typedef uintptr_t __attribute__((may_alias)) word_t;

enum { WORD = sizeof(word_t) };

static bool aligned(const void *a, const void *b) {
  return (((uintptr_t)a | (uintptr_t)b) % WORD) == 0;
}

void *memcpy(void *restrict target, const void *restrict source, size_t size) {
  uint8_t *t = target;
  const uint8_t *s = source;
  if (aligned(t, s)) {
    for (; size >= WORD; size -= WORD, t += WORD, s += WORD) {
      *(word_t *)t = *(const word_t *)s;
    }
  }
  for (; size > 0; --size) *t++ = *s++;
  return target;
}

void *memmove(void *target, const void *source, size_t size) {
  uint8_t *t = target;
  const uint8_t *s = source;
  // Copying forward is safe unless the target starts inside the source.
  if ((uintptr_t)t - (uintptr_t)s >= size) return memcpy(target, source, size);
  while (size > 0) {
    --size;
    t[size] = s[size];
  }
  return target;
}

void *memset(void *target, int value, size_t size) {
  uint8_t *t = target;
  const word_t word = (word_t)0x0101010101010101ull * (uint8_t)value;
  if (aligned(t, t)) {
    for (; size >= WORD; size -= WORD, t += WORD) *(word_t *)t = word;
  }
  for (; size > 0; --size) *t++ = (uint8_t)value;
  return target;
}

int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *x = a;
  const uint8_t *y = b;
  for (; size > 0; --size, ++x, ++y) {
    if (*x != *y) return *x < *y ? -1 : 1;
  }
  return 0;
}

// The functions of memory.c under other names, so that a host's libc and
// sanitizers do not replace them.
#define memcpy tested_memcpy
#define memmove tested_memmove
#define memset tested_memset
#define memcmp tested_memcmp
#include "runtime_bm/crt/memory.c"  // NOLINT(bugprone-suspicious-include)
#undef memcpy
#undef memmove
#undef memset
#undef memcmp

#include "runtime_bm/testing/bm_test.h"

enum { ROOM = 48, MARGIN = 8 };

static _Alignas(8) uint8_t a[ROOM];
static _Alignas(8) uint8_t b[ROOM];

// Every alignment of both sides and every length up to a few words: exactly the
// right bytes change.
static void copies_at_every_alignment(void) {
  for (size_t to = 0; to < MARGIN; ++to) {
    for (size_t from = 0; from < MARGIN; ++from) {
      for (size_t size = 0; size <= 4 * MARGIN; ++size) {
        for (size_t i = 0; i < ROOM; ++i) {
          a[i] = (uint8_t)(i + 1);
          b[i] = 0xEE;
        }
        void *result = tested_memcpy(b + to, a + from, size);
        bool ok = result == b + to;
        for (size_t i = 0; i < ROOM; ++i) {
          const bool inside = i >= to && i < to + size;
          ok = ok && b[i] == (inside ? a[from + i - to] : 0xEE);
        }
        if (!BM_EXPECT(ok)) return;
      }
    }
  }
}

static void moves_over_itself(void) {
  for (size_t to = 0; to < 2 * MARGIN; ++to) {
    for (size_t from = 0; from < 2 * MARGIN; ++from) {
      const size_t size = ROOM - 2 * MARGIN;
      for (size_t i = 0; i < ROOM; ++i) a[i] = (uint8_t)(i + 1);
      bool ok = tested_memmove(a + to, a + from, size) == a + to;
      for (size_t i = 0; i < ROOM; ++i) {
        const bool inside = i >= to && i < to + size;
        ok = ok && a[i] == (uint8_t)((inside ? from + i - to : i) + 1);
      }
      if (!BM_EXPECT(ok)) return;
    }
  }
}

static void sets_at_every_alignment(void) {
  for (size_t to = 0; to < MARGIN; ++to) {
    for (size_t size = 0; size <= 4 * MARGIN; ++size) {
      for (size_t i = 0; i < ROOM; ++i) a[i] = 0;
      bool ok = tested_memset(a + to, 0x1A5, size) == a + to;
      for (size_t i = 0; i < ROOM; ++i) {
        const bool inside = i >= to && i < to + size;
        ok = ok && a[i] == (inside ? 0xA5 : 0);
      }
      if (!BM_EXPECT(ok)) return;
    }
  }
}

static void compares_as_unsigned(void) {
  BM_EXPECT(tested_memcmp("abc", "abd", 3) < 0);
  BM_EXPECT(tested_memcmp("abd", "abc", 3) > 0);
  BM_EXPECT(tested_memcmp("\x80", "\x7f", 1) > 0);
  BM_EXPECT(tested_memcmp("abc", "abd", 2) == 0);
  BM_EXPECT(tested_memcmp("a", "b", 0) == 0);
}

int main(void) {
  BM_TEST(copies_at_every_alignment);
  BM_TEST(moves_over_itself);
  BM_TEST(sets_at_every_alignment);
  BM_TEST(compares_as_unsigned);
  return bm_test_end();
}

#include "runtime_bm/plan/plan_transfer.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/hal/hal.h"
#include "runtime_bm/testing/bm_test.h"

// More than eight registers at VLEN 256, with a rest.
enum { BYTES = 640, LONGEST = 600 };

static uint8_t target[BYTES];
static uint8_t source[BYTES];

// True when [start, start + length) of `target` is what `expected` says for
// each of its bytes, and everything around it is still 0xEE.
static bool only(size_t start, size_t length, const uint8_t *expected,
                 size_t period) {
  for (size_t i = 0; i < BYTES; ++i) {
    const bool inside = i >= start && i < start + length;
    const uint8_t value = inside ? expected[(i - start) % period] : 0xEE;
    if (target[i] != value) return false;
  }
  return true;
}

static void fills(bool vectors) {
  static const uint32_t kPattern = 0xFA785612;
  static const uint8_t kBytes[] = {0x12, 0x56, 0x78, 0xFA};
  for (uint32_t width = 1; width <= 4; width *= 2) {
    for (size_t start = 0; start < 8; start += width) {
      for (size_t length = 0; length <= LONGEST; length += 4 + width) {
        memset(target, 0xEE, BYTES);
        bm_plan_fill(target + start, length / width * width, kPattern, width,
                     vectors);
        BM_EXPECT(only(start, length / width * width, kBytes, width));
      }
    }
  }
}

static void copies(bool vectors) {
  for (size_t i = 0; i < BYTES; ++i) source[i] = (uint8_t)(i * 7 + i / 256);
  for (size_t start = 0; start < 5; ++start) {
    for (size_t length = 0; length <= LONGEST; length += 7) {
      memset(target, 0xEE, BYTES);
      bm_plan_copy(target + start, source + 3, length, vectors);
      BM_EXPECT(only(start, length, source + 3, BYTES));
    }
  }
}

static void moves_bytes_without_vectors(void) {
  fills(false);
  copies(false);
}

static void moves_the_same_bytes_with_vectors(void) {
  if (bm_hal_cpu().vlen_bits == 0) return;
  fills(true);
  copies(true);
}

int main(void) {
  BM_TEST(moves_bytes_without_vectors);
  BM_TEST(moves_the_same_bytes_with_vectors);
  return bm_test_end();
}

// Fuzzes the reader of device trees. The first byte chooses whether the rest is
// a tree or edits to a good one.
#include <stdbool.h>
#include <string.h>

#include "boards/common/device_tree.h"
#include "boards/common/fake_device_tree.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  HEADER_BYTES = 40,
  MAX_BYTES = 4096,
};

static uint32_t word(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool has(const uint8_t *tree, size_t size, const void *what,
                size_t what_bytes) {
  for (size_t at = 0; at + what_bytes <= size; ++at) {
    if (memcmp(tree + at, what, what_bytes) == 0) return true;
  }
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t bytes[MAX_BYTES];
  fuzz_input_t input = {data, size};
  memset(bytes, 0, sizeof(bytes));
  if (fuzz_byte(&input) & 1) {
    memcpy(bytes, fake_device_tree, sizeof(fake_device_tree));
    while (input.size > 0) {
      const uint32_t offset = fuzz_byte(&input);
      bytes[offset] = (uint8_t)fuzz_byte(&input);
    }
  } else {
    memcpy(bytes, input.data, input.size < MAX_BYTES ? input.size : MAX_BYTES);
  }
  // What a boot path promises: the header, and as many bytes as it says.
  uint32_t total = word(bytes + 4);
  if (total > MAX_BYTES) {
    total = MAX_BYTES;
    memcpy(bytes + 4, (const uint8_t[]){0, 0, MAX_BYTES >> 8, 0}, 4);
  }
  if (total < HEADER_BYTES) total = HEADER_BYTES;
  uint8_t *tree = fuzz_memory(sizeof(uint64_t), total);
  memcpy(tree, bytes, total);
  const uint32_t timebase = bm_device_tree_timebase(tree);
  if (timebase != 0) {
    static const char kName[] = "timebase-frequency";
    const uint8_t value[] = {(uint8_t)(timebase >> 24),
                             (uint8_t)(timebase >> 16),
                             (uint8_t)(timebase >> 8), (uint8_t)timebase};
    FUZZ_ASSERT(has(tree, total, kName, sizeof(kName)));
    FUZZ_ASSERT(has(tree, total, value, sizeof(value)));
  }
  free(tree);
  return 0;
}

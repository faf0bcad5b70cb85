// Fuzzes the reader of device trees. The first byte chooses whether the rest is
// a tree or edits to a good one, and which of its blocks comes last: what is
// read past the end of the other one is still in the tree.
#include <stdbool.h>
#include <string.h>

#include "boards/common/device_tree.h"
#include "boards/common/fake_device_tree.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  EDITS = 1,
  STRUCTURE_LAST = 2,
  HEADER_BYTES = 40,
  MAX_BYTES = 4096,
};

static uint32_t word(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_good_tree(uint8_t *bytes, bool structure_last) {
  memcpy(bytes, fake_device_tree, sizeof(fake_device_tree));
  if (!structure_last) return;
  const uint32_t strings_at = word(bytes + 12);
  const size_t strings_bytes = sizeof(fake_device_tree) - strings_at;
  memcpy(bytes + HEADER_BYTES, fake_device_tree + strings_at, strings_bytes);
  memcpy(bytes + HEADER_BYTES + strings_bytes, fake_device_tree + HEADER_BYTES,
         strings_at - HEADER_BYTES);
  bytes[11] = (uint8_t)(HEADER_BYTES + strings_bytes);
  bytes[15] = HEADER_BYTES;
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
  const uint32_t choice = fuzz_byte(&input);
  if (choice & EDITS) {
    put_good_tree(bytes, choice & STRUCTURE_LAST);
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

#include "boards/common/device_tree.h"

#include <stdbool.h>
#include <stddef.h>

#include "runtime_bm/base/range.h"

enum {
  MAGIC = 0xd00dfeed,
  HEADER_BYTES = 40,
  MAX_BYTES = 1 << 20,
  BEGIN_NODE = 1,
  END_NODE = 2,
  PROP = 3,
  NOP = 4,
};

static const char kTimebase[] = "timebase-frequency";

// Big-endian, like everything in a device tree.
static uint32_t word(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | bytes[3];
}

// True when the string at `offset` of a block of `size` bytes is `want`.
static bool is_string(const uint8_t *block, uint32_t size, uint32_t offset,
                      const char *want, uint32_t want_bytes) {
  if (!bm_range_fits(offset, want_bytes, size)) return false;
  for (uint32_t i = 0; i < want_bytes; ++i) {
    if (block[offset + i] != (uint8_t)want[i]) return false;
  }
  return true;
}

// Bytes from `at` to the word after a node's name; `size` if it does not end.
static uint32_t name_bytes(const uint8_t *structure, uint32_t size,
                           uint32_t at) {
  uint32_t end = at;
  while (end < size && structure[end] != 0) ++end;
  return (end - at) / 4 * 4 + 4;
}

uint32_t bm_device_tree_timebase(const void *tree) {
  const uint8_t *bytes = tree;
  if (bytes == NULL || ((uintptr_t)bytes & 3) != 0) return 0;
  if (word(bytes) != MAGIC) return 0;
  const uint32_t total = word(bytes + 4);
  const uint32_t structure_at = word(bytes + 8);
  const uint32_t strings_at = word(bytes + 12);
  const uint32_t strings_bytes = word(bytes + 32);
  const uint32_t size = word(bytes + 36);
  if (total < HEADER_BYTES || total > MAX_BYTES) return 0;
  if (!bm_range_fits(structure_at, size, total)) return 0;
  if (!bm_range_fits(strings_at, strings_bytes, total)) return 0;
  const uint8_t *structure = bytes + structure_at;
  for (uint32_t at = 0; bm_range_fits(at, 4, size);) {
    const uint32_t token = word(structure + at);
    at += 4;
    if (token == BEGIN_NODE) {
      at += name_bytes(structure, size, at);
    } else if (token == PROP) {
      if (!bm_range_fits(at, 8, size)) return 0;
      const uint32_t length = word(structure + at);
      const uint32_t name = word(structure + at + 4);
      at += 8;
      if (!bm_range_fits(at, length, size)) return 0;
      if (length == 4 && is_string(bytes + strings_at, strings_bytes, name,
                                   kTimebase, sizeof(kTimebase))) {
        return word(structure + at);
      }
      at += (length + 3) / 4 * 4;
    } else if (token != END_NODE && token != NOP) {
      return 0;
    }
  }
  return 0;
}

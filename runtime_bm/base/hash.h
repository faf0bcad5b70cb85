// FNV-1a, 64 bits: the hash of the console protocol's output records.
#ifndef RUNTIME_BM_BASE_HASH_H_
#define RUNTIME_BM_BASE_HASH_H_

#include <stddef.h>
#include <stdint.h>

#define BM_HASH_SEED 0xcbf29ce484222325ull

// Extends `hash` by `size` bytes; start with BM_HASH_SEED.
static inline uint64_t bm_hash(uint64_t hash, const void *data, size_t size) {
  const uint8_t *bytes = (const uint8_t *)data;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  }
  return hash;
}

#endif  // RUNTIME_BM_BASE_HASH_H_

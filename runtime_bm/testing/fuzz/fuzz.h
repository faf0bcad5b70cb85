// The input of a fuzz target, consumed from the front. Reads past its end give
// 0, so every input is valid.
#ifndef RUNTIME_BM_TESTING_FUZZ_FUZZ_H_
#define RUNTIME_BM_TESTING_FUZZ_FUZZ_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct fuzz_input_t {
  const uint8_t *data;
  size_t size;
} fuzz_input_t;

static inline uint32_t fuzz_byte(fuzz_input_t *input) {
  if (input->size == 0) return 0;
  --input->size;
  return *input->data++;
}

static inline uint32_t fuzz_half(fuzz_input_t *input) {
  const uint32_t low = fuzz_byte(input);
  return low | fuzz_byte(input) << 8;
}

// Stops the fuzzer if something happens that never should.
#define FUZZ_ASSERT(condition) \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

// Allocates exactly `size` bytes so that reading one byte too many is noticed.
static inline void *fuzz_memory(size_t alignment, size_t size) {
  void *memory = NULL;
  FUZZ_ASSERT(posix_memalign(&memory, alignment, size) == 0);
  return memory;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif  // RUNTIME_BM_TESTING_FUZZ_FUZZ_H_

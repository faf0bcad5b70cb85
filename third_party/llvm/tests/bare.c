#include <stddef.h>
#include <stdint.h>

int answer(int x);
uint64_t vector_bytes(void);

uint64_t g_results[64];

void _start(void) {
  /* A compiler that may use vectors turns this loop into vector code. */
  const uint64_t step = (uint64_t)answer(7);
  for (size_t i = 0; i < 64; ++i) g_results[i] = i * step;
  g_results[0] = vector_bytes();
}

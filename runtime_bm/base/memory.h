// The four memory functions that a freestanding C compiler may call on its own.
// runtime_bm/crt/memory.c defines them on targets without a libc.
#ifndef RUNTIME_BM_BASE_MEMORY_H_
#define RUNTIME_BM_BASE_MEMORY_H_

#include <stddef.h>

void *memcpy(void *restrict target, const void *restrict source, size_t size);
void *memmove(void *target, const void *source, size_t size);
void *memset(void *target, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

#endif  // RUNTIME_BM_BASE_MEMORY_H_

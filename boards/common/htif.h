// The host-target interface of Spike and of QEMU's spike machine.
#ifndef BOARDS_COMMON_HTIF_H_
#define BOARDS_COMMON_HTIF_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

void bm_htif_write(const char *bytes, size_t size);

// Returns the next byte that came, or -1. 64 bits only.
int32_t bm_htif_read(void);

BM_NORETURN void bm_htif_exit(uint32_t status);

#endif  // BOARDS_COMMON_HTIF_H_

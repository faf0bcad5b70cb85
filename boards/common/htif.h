// The host-target interface of Spike and of QEMU's spike machine.
#ifndef BOARDS_COMMON_HTIF_H_
#define BOARDS_COMMON_HTIF_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

void bm_htif_write(const char *bytes, size_t size);

BM_NORETURN void bm_htif_exit(uint32_t status);

#endif  // BOARDS_COMMON_HTIF_H_

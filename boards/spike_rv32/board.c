// 32-bit Spike and QEMU's 32-bit spike machine: everything goes through the
// host-target interface.
#include "boards/common/htif.h"
#include "runtime_bm/hal/hal.h"

void bm_hal_init(void) {}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_htif_write(bytes, size);
}

void bm_hal_exit(uint32_t status) { bm_htif_exit(status); }

// QEMU's RISC-V virt machine, in supervisor mode.
#include "boards/common/ns16550.h"
#include "boards/common/sbi.h"
#include "boards/common/sifive_test.h"
#include "runtime_bm/hal/hal.h"

enum {
  TEST_BASE = 0x100000,
  UART_BASE = 0x10000000,
  UART_STRIDE = 1,
};

void bm_hal_init(void) { bm_ns16550_init(UART_BASE, UART_STRIDE); }

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_ns16550_write(UART_BASE, UART_STRIDE, bytes, size);
}

// OpenSBI restarts the machine, as on hardware, but does not pass a status on.
void bm_hal_exit(uint32_t status) {
  if (status == 0) bm_sbi_reboot();
  bm_sifive_test_exit(TEST_BASE, status);
}

// A board to copy: replace the addresses and drivers with your own. The other
// functions of runtime_bm/hal/hal.h are the same on every RISC-V hart and come
// from boards/common/riscv.c.
#include "boards/common/ns16550.h"
#include "boards/common/sifive_test.h"
#include "runtime_bm/hal/hal.h"

enum {
  TEST_BASE = 0x100000,
  UART_BASE = 0x10000000,
  UART_STRIDE = 1,
};

// Clocks, pins and the console's baud rate belong here.
void bm_hal_init(void) { bm_ns16550_init(UART_BASE, UART_STRIDE); }

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_ns16550_write(UART_BASE, UART_STRIDE, bytes, size);
}

// A board that cannot end a run stops in an endless loop: the last console
// record has the result.
void bm_hal_exit(uint32_t status) { bm_sifive_test_exit(TEST_BASE, status); }

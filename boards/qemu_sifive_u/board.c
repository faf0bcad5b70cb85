// SiFive's HiFive Unleashed, as QEMU's sifive_u machine models it.
#include "boards/common/semihosting.h"
#include "boards/common/sifive_uart.h"
#include "runtime_bm/hal/hal.h"

enum { UART_BASE = 0x10010000 };

void bm_hal_init(void) { bm_sifive_uart_init(UART_BASE); }

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_sifive_uart_write(UART_BASE, bytes, size);
}

// The machine has no device that ends a run.
void bm_hal_exit(uint32_t status) { bm_semihosting_exit(status); }

// SiFive's HiFive1 Rev B (FE310-G002), and QEMU's sifive_e machine.
#include "boards/common/semihosting.h"
#include "boards/common/sifive_uart.h"
#include "runtime_bm/hal/hal.h"

enum {
  GPIO_BASE = 0x10012000,
  UART0_BASE = 0x10013000,
};

// GPIO registers that route pins to peripherals, and the pins of UART 0.
enum {
  IOF_ENABLE = 0x38,
  IOF_SELECT = 0x3C,
  UART0_PINS = 1 << 16 | 1 << 17,
};

void bm_hal_init(void) {
  *(volatile uint32_t *)(GPIO_BASE + IOF_SELECT) &= ~(uint32_t)UART0_PINS;
  *(volatile uint32_t *)(GPIO_BASE + IOF_ENABLE) |= UART0_PINS;
  bm_sifive_uart_init(UART0_BASE);
}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_sifive_uart_write(UART0_BASE, bytes, size);
}

// The board cannot end a run: a debugger or QEMU takes the status. Without one
// the hart waits.
void bm_hal_exit(uint32_t status) { bm_semihosting_exit(status); }

// BananaPi BPI-F3 (SpacemiT K1).
#include "boards/common/ns16550.h"
#include "boards/common/sbi.h"
#include "runtime_bm/hal/hal.h"

// UART 0, with 32-bit registers.
#define UART_BASE 0xd4017000u
enum { UART_STRIDE = 4 };

// U-Boot has set the UART up. Our driver would turn it off: this UART has an
// enable bit of its own in the interrupt register.
void bm_hal_init(void) {}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_ns16550_write(UART_BASE, UART_STRIDE, bytes, size);
}

// Back to the boot loader. The last console record has the result.
void bm_hal_exit(uint32_t status) {
  (void)status;
  bm_sbi_reboot();
}

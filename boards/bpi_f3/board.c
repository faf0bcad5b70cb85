// BananaPi BPI-F3 (SpacemiT K1).
#include "boards/common/ns16550.h"
#include "boards/common/sbi.h"
#include "runtime_bm/hal/hal.h"

// UART 0, with registers of 32 bits.
#define UART_BASE 0xd4017000u
enum { UART_STRIDE = 4 };

// U-Boot has set it up, and would lose it if we did: this UART has a bit of its
// own in the interrupt register that turns it on.
void bm_hal_init(void) {}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_ns16550_write(UART_BASE, UART_STRIDE, bytes, size);
}

// Back to the boot loader. The last record on the console says how it went.
void bm_hal_exit(uint32_t status) {
  (void)status;
  bm_sbi_reboot();
}

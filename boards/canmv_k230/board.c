// CanMV-K230 (Kendryte K230, big core).
#include "boards/common/ns16550.h"
#include "runtime_bm/hal/hal.h"

// UART 0, with registers of 32 bits.
#define UART_BASE 0x91400000u
enum { UART_STRIDE = 4 };

// U-Boot, which goes on running on the other core, has set it up.
void bm_hal_init(void) {}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_ns16550_write(UART_BASE, UART_STRIDE, bytes, size);
}

// Nothing to go back to on this core. The last record on the console says how
// it went.
void bm_hal_exit(uint32_t status) {
  (void)status;
  for (;;) __asm__ volatile("wfi");
}

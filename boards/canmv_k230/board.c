// CanMV-K230 (Kendryte K230, big core).
#include "boards/common/ns16550.h"
#include "runtime_bm/hal/hal.h"

// UART 0, with 32-bit registers.
#define UART_BASE 0x91400000u
enum { UART_STRIDE = 4 };

// U-Boot has set the UART up and keeps running on the other core.
void bm_hal_init(void) {}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_ns16550_write(UART_BASE, UART_STRIDE, bytes, size);
}

// There is nothing to return to on this core. The last console record has the
// result.
void bm_hal_exit(uint32_t status) {
  (void)status;
  for (;;) __asm__ volatile("wfi");
}

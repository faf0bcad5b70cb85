// What QEMU's virt machine offers to applications besides what every board in
// supervisor mode does.
#include "boards/common/ns16550.h"
#include "runtime_bm/hal/application.h"

enum {
  UART_BASE = 0x10000000,
  UART_STRIDE = 1,
};

uint32_t bm_hal_time_hz(void) { return 10000000; }

int32_t bm_hal_console_read(void) {
  return bm_ns16550_read(UART_BASE, UART_STRIDE);
}

// What the BPI-F3 offers to applications besides what every board in
// supervisor mode does.
#include "boards/common/ns16550.h"
#include "runtime_bm/hal/application.h"

#define UART_BASE 0xd4017000u
enum { UART_STRIDE = 4 };

uint32_t bm_hal_time_hz(void) { return 24000000; }

int32_t bm_hal_console_read(void) {
  return bm_ns16550_read(UART_BASE, UART_STRIDE);
}

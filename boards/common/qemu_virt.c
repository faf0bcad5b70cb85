// What QEMU's virt machines offer to applications.
#include "boards/common/clint.h"
#include "boards/common/ns16550.h"
#include "boards/common/sifive_test.h"
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/application.h"

enum {
  TEST_BASE = 0x100000,
  CLINT_BASE = 0x2000000,
  UART_BASE = 0x10000000,
  UART_STRIDE = 1,
  HART = 0,
};

uint64_t bm_hal_time(void) { return bm_clint_time(CLINT_BASE); }

uint32_t bm_hal_time_hz(void) { return bm_board_facts.timebase_hz; }

void bm_hal_timer(uint64_t time) { bm_clint_timer(CLINT_BASE, HART, time); }

int32_t bm_hal_console_read(void) {
  return bm_ns16550_read(UART_BASE, UART_STRIDE);
}

void bm_hal_power_off(void) { bm_sifive_test_exit(TEST_BASE, 0); }

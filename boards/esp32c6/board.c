// Espressif ESP32-C6.
#include "boards/common/esp.h"
#include "runtime_bm/hal/hal.h"

enum {
  UART0_BASE = 0x60000000,
  TIMER_GROUP0_BASE = 0x60008000,
  LOW_POWER_WDT_BASE = 0x600b1c00,
};

// The chip counts cycles in its own registers and does not count instructions.
#define START_COUNTING() __asm__ volatile("csrwi 0x7E0, 1\n csrwi 0x7E1, 1")

uint64_t bm_hal_cycles(void) {
  uint32_t cycles;
  __asm__ volatile("csrr %0, 0x7E2" : "=r"(cycles));
  return cycles;
}

uint64_t bm_hal_instret(void) { return 0; }

void bm_hal_init(void) {
  bm_esp_watchdogs_off(TIMER_GROUP0_BASE, LOW_POWER_WDT_BASE);
  START_COUNTING();
}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_esp_uart_write(UART0_BASE, bytes, size);
}

// The last console record has the status.
void bm_hal_exit(uint32_t status) {
  (void)status;
  bm_esp_stop(UART0_BASE);
}

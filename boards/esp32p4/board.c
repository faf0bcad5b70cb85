// Espressif ESP32-P4.
#include "boards/common/esp.h"
#include "runtime_bm/hal/hal.h"

enum {
  UART0_BASE = 0x500ca000,
  TIMER_GROUP0_BASE = 0x500c2000,
  LOW_POWER_WDT_BASE = 0x50116000,
};

void bm_hal_init(void) {
  bm_esp_watchdogs_off(TIMER_GROUP0_BASE, LOW_POWER_WDT_BASE);
}

void bm_hal_console_write(const char *bytes, size_t size) {
  bm_esp_uart_write(UART0_BASE, bytes, size);
}

// The last console record has the status.
void bm_hal_exit(uint32_t status) {
  (void)status;
  bm_esp_stop(UART0_BASE);
}

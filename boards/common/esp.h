// Shared by Espressif's chips with RISC-V harts.
#ifndef BOARDS_COMMON_ESP_H_
#define BOARDS_COMMON_ESP_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Turns off the watchdogs that the ROM leaves running: the timer group's, the
// low-power system's, and the "super" watchdog.
void bm_esp_watchdogs_off(uintptr_t timer_group, uintptr_t low_power);

// Writes to the UART as the ROM set it up, waiting for room.
void bm_esp_uart_write(uintptr_t uart, const char *bytes, size_t size);

// Nothing can end the run: waits until the UART has sent everything, then
// forever.
BM_NORETURN void bm_esp_stop(uintptr_t uart);

#endif  // BOARDS_COMMON_ESP_H_

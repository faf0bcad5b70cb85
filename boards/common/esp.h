// What Espressif's chips with RISC-V harts have in common.
#ifndef BOARDS_COMMON_ESP_H_
#define BOARDS_COMMON_ESP_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Turns off the watchdogs that the ROM leaves running: of the timer group, of
// the low-power system, and the "super" one.
void bm_esp_watchdogs_off(uintptr_t timer_group, uintptr_t low_power);

// Writes to a UART that the ROM has set up, waiting for room.
void bm_esp_uart_write(uintptr_t uart, const char *bytes, size_t size);

// Nothing ends the chip: waits for ever once the UART has sent everything.
BM_NORETURN void bm_esp_stop(uintptr_t uart);

#endif  // BOARDS_COMMON_ESP_H_

// SiFive's UART, transmit only.
#ifndef BOARDS_COMMON_SIFIVE_UART_H_
#define BOARDS_COMMON_SIFIVE_UART_H_

#include <stddef.h>
#include <stdint.h>

// Turns the transmitter on. Keeps the baud rate.
void bm_sifive_uart_init(uintptr_t base);

// Writes `size` bytes, waiting for room before each.
void bm_sifive_uart_write(uintptr_t base, const char *bytes, size_t size);

#endif  // BOARDS_COMMON_SIFIVE_UART_H_

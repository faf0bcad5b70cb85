#include "boards/gates/litex.h"

static volatile uint32_t *at(uintptr_t address) {
  return (volatile uint32_t *)address;
}

void bm_litex_uart_write(const bm_litex_uart_t *uart, const char *bytes,
                         size_t size) {
  for (size_t i = 0; i < size; ++i) {
    while (*at(uart->txfull) != 0) {
    }
    *at(uart->rxtx) = (uint8_t)bytes[i];
  }
}

void bm_litex_exit(const bm_litex_uart_t *uart, uintptr_t exit,
                   uint32_t status) {
  while (*at(uart->txempty) == 0) {
  }
  *at(exit) = status;
  for (;;) {
  }
}

void bm_litex_restart(const bm_litex_uart_t *uart, uintptr_t reset,
                      uint32_t cycles) {
  while (*at(uart->txempty) == 0) {
  }
  // The last character has left the queue, but not the line.
  for (uint32_t i = 0; i < cycles; ++i) {
    __asm__ volatile("");
  }
  *at(reset) = 1;
  for (;;) {
  }
}

#include "boards/common/esp.h"

// Byte offsets of registers.
enum {
  UART_FIFO = 0x00,
  UART_STATUS = 0x1C,
  TIMER_GROUP_WDT_CONFIG0 = 0x48,
  TIMER_GROUP_WDT_PROTECT = 0x64,
  LOW_POWER_WDT_CONFIG0 = 0x00,
  LOW_POWER_WDT_PROTECT = 0x18,
  LOW_POWER_SUPER_CONFIG = 0x1C,
  LOW_POWER_SUPER_PROTECT = 0x20,
};

enum {
  UART_FIFO_BYTES = 128,
  UART_SENDING_SHIFT = 16,  // in UART_STATUS: how many bytes wait
  UART_SENDING_MASK = 0xFF,
};

#define WDT_KEY \
  0x50D83AA1u  // written to a PROTECT register, unlocks the others
#define SUPER_DISABLE (1u << 30)

static volatile uint32_t *at(uintptr_t base, uint32_t offset) {
  return (volatile uint32_t *)(base + offset);
}

static uint32_t sending(uintptr_t uart) {
  return *at(uart, UART_STATUS) >> UART_SENDING_SHIFT & UART_SENDING_MASK;
}

void bm_esp_watchdogs_off(uintptr_t timer_group, uintptr_t low_power) {
  *at(timer_group, TIMER_GROUP_WDT_PROTECT) = WDT_KEY;
  *at(timer_group, TIMER_GROUP_WDT_CONFIG0) = 0;
  *at(timer_group, TIMER_GROUP_WDT_PROTECT) = 0;
  *at(low_power, LOW_POWER_WDT_PROTECT) = WDT_KEY;
  *at(low_power, LOW_POWER_WDT_CONFIG0) = 0;
  *at(low_power, LOW_POWER_WDT_PROTECT) = 0;
  *at(low_power, LOW_POWER_SUPER_PROTECT) = WDT_KEY;
  *at(low_power, LOW_POWER_SUPER_CONFIG) |= SUPER_DISABLE;
  *at(low_power, LOW_POWER_SUPER_PROTECT) = 0;
}

void bm_esp_uart_write(uintptr_t uart, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    while (sending(uart) >= UART_FIFO_BYTES - 1) {
    }
    *at(uart, UART_FIFO) = (uint8_t)bytes[i];
  }
}

void bm_esp_stop(uintptr_t uart) {
  while (sending(uart) != 0) {
  }
  for (;;) __asm__ volatile("wfi");
}

#include "boards/common/sifive_uart.h"

// Register numbers, four bytes apart.
enum {
  TRANSMIT_DATA = 0,
  TRANSMIT_CONTROL = 2,
};

enum {
  TRANSMIT_ENABLE = 1,
  DRAIN_READS = 1000,
};

void bm_sifive_uart_init(uintptr_t base) {
  volatile uint32_t *registers = (volatile uint32_t *)base;
  registers[TRANSMIT_CONTROL] = TRANSMIT_ENABLE;
}

void bm_sifive_uart_write(uintptr_t base, const char *bytes, size_t size) {
  volatile uint32_t *registers = (volatile uint32_t *)base;
  for (size_t i = 0; i < size; ++i) {
    while ((int32_t)registers[TRANSMIT_DATA] < 0) {  // full
    }
    registers[TRANSMIT_DATA] = (uint8_t)bytes[i];
  }
  // QEMU sends a byte some time after accepting it, loses unsent bytes when it
  // ends, and has no register that shows this. So give it time.
  for (uint32_t i = 0; i < DRAIN_READS; ++i) (void)registers[TRANSMIT_DATA];
}

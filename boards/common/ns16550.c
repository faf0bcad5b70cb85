#include "boards/common/ns16550.h"

// Register numbers, one byte apart.
enum {
  TRANSMIT = 0,
  INTERRUPT_ENABLE = 1,
  LINE_CONTROL = 3,
  LINE_STATUS = 5,
};

enum {
  LINE_CONTROL_8N1 = 0x03,
  LINE_STATUS_TRANSMIT_EMPTY = 0x20,
};

void bm_ns16550_init(uintptr_t base) {
  volatile uint8_t *registers = (volatile uint8_t *)base;
  registers[INTERRUPT_ENABLE] = 0;
  registers[LINE_CONTROL] = LINE_CONTROL_8N1;
}

void bm_ns16550_write(uintptr_t base, const char *bytes, size_t size) {
  volatile uint8_t *registers = (volatile uint8_t *)base;
  for (size_t i = 0; i < size; ++i) {
    while ((registers[LINE_STATUS] & LINE_STATUS_TRANSMIT_EMPTY) == 0) {
    }
    registers[TRANSMIT] = (uint8_t)bytes[i];
  }
}

#include "boards/common/ns16550.h"

// Register numbers; the board gives the distance between registers.
enum {
  TRANSMIT = 0,  // when written
  RECEIVE = 0,   // when read
  INTERRUPT_ENABLE = 1,
  LINE_CONTROL = 3,
  LINE_STATUS = 5,
};

enum {
  LINE_CONTROL_8N1 = 0x03,
  LINE_STATUS_RECEIVED = 0x01,
  LINE_STATUS_TRANSMIT_EMPTY = 0x20,
};

static uint32_t get(uintptr_t base, uint32_t stride, uint32_t number) {
  const uintptr_t address = base + (uintptr_t)stride * number;
  if (stride == 1) return *(const volatile uint8_t *)address;
  return *(const volatile uint32_t *)address;
}

static void set(uintptr_t base, uint32_t stride, uint32_t number,
                uint8_t value) {
  const uintptr_t address = base + (uintptr_t)stride * number;
  if (stride == 1) {
    *(volatile uint8_t *)address = value;
  } else {
    *(volatile uint32_t *)address = value;
  }
}

void bm_ns16550_init(uintptr_t base, uint32_t stride) {
  set(base, stride, INTERRUPT_ENABLE, 0);
  set(base, stride, LINE_CONTROL, LINE_CONTROL_8N1);
}

void bm_ns16550_write(uintptr_t base, uint32_t stride, const char *bytes,
                      size_t size) {
  for (size_t i = 0; i < size; ++i) {
    while ((get(base, stride, LINE_STATUS) & LINE_STATUS_TRANSMIT_EMPTY) == 0) {
    }
    set(base, stride, TRANSMIT, (uint8_t)bytes[i]);
  }
}

int32_t bm_ns16550_read(uintptr_t base, uint32_t stride) {
  if ((get(base, stride, LINE_STATUS) & LINE_STATUS_RECEIVED) == 0) return -1;
  return (int32_t)(get(base, stride, RECEIVE) & 0xFF);
}

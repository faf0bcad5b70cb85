// SiFive's HiFive1 Rev B: routes pins to UART 0.
#ifndef BOARDS_HIFIVE1_REVB_PINS_H_
#define BOARDS_HIFIVE1_REVB_PINS_H_

#include <stdint.h>

enum {
  GPIO_BASE = 0x10012000,
  IOF_ENABLE = 0x38,
  IOF_SELECT = 0x3C,
  UART0_PINS = 1 << 16 | 1 << 17,
};

static inline void bm_board_setup(void) {
  *(volatile uint32_t *)(GPIO_BASE + IOF_SELECT) &= ~(uint32_t)UART0_PINS;
  *(volatile uint32_t *)(GPIO_BASE + IOF_ENABLE) |= UART0_PINS;
}

#endif  // BOARDS_HIFIVE1_REVB_PINS_H_

#include "boards/common/clint.h"

// Byte offsets of registers.
enum {
  MTIMECMP = 0x4000,  // one for each hart, 8 bytes apart
  MTIME = 0xBFF8,
};

#define MIE_TIMER 0x80u

// 64-bit registers are read and written in halves, as 32-bit harts must.

uint64_t bm_clint_time(uintptr_t base) {
  const volatile uint32_t *time = (const volatile uint32_t *)(base + MTIME);
  uint32_t high, low;
  do {
    high = time[1];
    low = time[0];
  } while (high != time[1]);
  return (uint64_t)high << 32 | low;
}

void bm_clint_timer(uintptr_t base, uint32_t hart, uint64_t time) {
  volatile uint32_t *compare =
      (volatile uint32_t *)(base + MTIMECMP + (uintptr_t)hart * 8);
  // No time in between is in the past.
  compare[1] = UINT32_MAX;
  compare[0] = (uint32_t)time;
  compare[1] = (uint32_t)(time >> 32);
  __asm__ volatile("csrs mie, %0" ::"r"(MIE_TIMER));
}

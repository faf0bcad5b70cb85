// The core-local interruptor of SiFive's and QEMU's machines: clock and timer.
#ifndef BOARDS_COMMON_CLINT_H_
#define BOARDS_COMMON_CLINT_H_

#include <stdint.h>

uint64_t bm_clint_time(uintptr_t base);

// Interrupts `hart` once the time is at least `time`; UINT64_MAX: never.
void bm_clint_timer(uintptr_t base, uint32_t hart, uint64_t time);

#endif  // BOARDS_COMMON_CLINT_H_

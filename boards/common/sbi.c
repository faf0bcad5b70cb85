#include "boards/common/sbi.h"

#include <stdint.h>

// RISC-V Supervisor Binary Interface 1.0, "System Reset Extension" and "Timer
// Extension".
enum {
  EXTENSION_SRST = 0x53525354,
  SYSTEM_RESET = 0,
  SHUTDOWN = 0,
  COLD_REBOOT = 1,
  NO_REASON = 0,
  EXTENSION_TIME = 0x54494D45,
  SET_TIMER = 0,
};

static void call(uintptr_t extension, uintptr_t function, uintptr_t x,
                 uintptr_t y) {
  register uintptr_t a0 __asm__("a0") = x;
  register uintptr_t a1 __asm__("a1") = y;
  register uintptr_t a6 __asm__("a6") = function;
  register uintptr_t a7 __asm__("a7") = extension;
  __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7) : "memory");
}

void bm_sbi_reboot(void) {
  call(EXTENSION_SRST, SYSTEM_RESET, COLD_REBOOT, NO_REASON);
  for (;;) {
  }
}

void bm_sbi_power_off(void) {
  call(EXTENSION_SRST, SYSTEM_RESET, SHUTDOWN, NO_REASON);
  for (;;) {
  }
}

void bm_sbi_timer(uint64_t time) {
  call(EXTENSION_TIME, SET_TIMER, (uintptr_t)time, 0);
}

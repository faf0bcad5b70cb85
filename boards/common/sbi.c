#include "boards/common/sbi.h"

#include <stdint.h>

// RISC-V Supervisor Binary Interface 1.0, "System Reset Extension", "Timer
// Extension", "Hart State Management Extension" and "IPI Extension".
enum {
  EXTENSION_SRST = 0x53525354,
  SYSTEM_RESET = 0,
  SHUTDOWN = 0,
  COLD_REBOOT = 1,
  NO_REASON = 0,
  EXTENSION_TIME = 0x54494D45,
  SET_TIMER = 0,
  EXTENSION_HSM = 0x48534D,
  HART_START = 0,
  EXTENSION_IPI = 0x735049,
  SEND_IPI = 0,
};

// Returns an error, 0 for none.
static intptr_t call(uintptr_t extension, uintptr_t function, uintptr_t x,
                     uintptr_t y, uintptr_t z) {
  register uintptr_t a0 __asm__("a0") = x;
  register uintptr_t a1 __asm__("a1") = y;
  register uintptr_t a2 __asm__("a2") = z;
  register uintptr_t a6 __asm__("a6") = function;
  register uintptr_t a7 __asm__("a7") = extension;
  __asm__ volatile("ecall"
                   : "+r"(a0), "+r"(a1)
                   : "r"(a2), "r"(a6), "r"(a7)
                   : "memory");
  return (intptr_t)a0;
}

void bm_sbi_reboot(void) {
  call(EXTENSION_SRST, SYSTEM_RESET, COLD_REBOOT, NO_REASON, 0);
  for (;;) {
  }
}

void bm_sbi_power_off(void) {
  call(EXTENSION_SRST, SYSTEM_RESET, SHUTDOWN, NO_REASON, 0);
  for (;;) {
  }
}

void bm_sbi_timer(uint64_t time) {
  call(EXTENSION_TIME, SET_TIMER, (uintptr_t)time, 0, 0);
}

bool bm_sbi_hart_start(uint32_t id, uintptr_t address, uintptr_t argument) {
  return call(EXTENSION_HSM, HART_START, id, address, argument) == 0;
}

void bm_sbi_interrupt_all(void) {
  // Memory that was written before comes before the interrupt.
  __asm__ volatile("fence rw, rw" ::: "memory");
  call(EXTENSION_IPI, SEND_IPI, 0, UINTPTR_MAX, 0);
}

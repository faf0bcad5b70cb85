#include "boards/common/sbi.h"

#include <stdint.h>

// RISC-V Supervisor Binary Interface 1.0, "System Reset Extension".
enum {
  EXTENSION_SRST = 0x53525354,
  SYSTEM_RESET = 0,
  COLD_REBOOT = 1,
  NO_REASON = 0,
};

void bm_sbi_reboot(void) {
  register uintptr_t a0 __asm__("a0") = COLD_REBOOT;
  register uintptr_t a1 __asm__("a1") = NO_REASON;
  register uintptr_t a6 __asm__("a6") = SYSTEM_RESET;
  register uintptr_t a7 __asm__("a7") = EXTENSION_SRST;
  __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7) : "memory");
  for (;;) {
  }
}

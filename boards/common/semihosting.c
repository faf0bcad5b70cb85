#include "boards/common/semihosting.h"

// RISC-V Semihosting 0.3 and, for the numbers, Arm's Semihosting 2.0.
enum {
  SYS_EXIT_EXTENDED = 0x20,
  ADP_STOPPED_APPLICATION_EXIT = 0x20026,
};

static void call(uintptr_t operation, const uintptr_t *block) {
  register uintptr_t a0 __asm__("a0") = operation;
  register const uintptr_t *a1 __asm__("a1") = block;
  // A host recognizes the breakpoint by these three instructions, uncompressed
  // and in one page.
  __asm__ volatile(
      ".option push\n"
      ".option norvc\n"
      ".balign 16\n"
      "slli zero, zero, 0x1f\n"
      "ebreak\n"
      "srai zero, zero, 7\n"
      ".option pop\n"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
}

void bm_semihosting_exit(uint32_t status) {
  // Without a host the breakpoint traps: wait there and do not report a trap.
  __asm__ volatile(
      "la t0, 1f\n"
      "csrw mtvec, t0\n"
      "j 2f\n"
      ".balign 4\n"
      "1: wfi\n"
      "j 1b\n"
      "2:\n" ::
          : "t0");
  const uintptr_t block[] = {ADP_STOPPED_APPLICATION_EXIT, status};
  call(SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}

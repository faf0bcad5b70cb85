// Several harts in machine mode: software interrupts of a core-local
// interruptor. Startup lets the harts that are not called wait (crt/start.S).
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/harts.h"

// mie.MSIE and mstatus.MIE.
#define MIE_SOFTWARE "8"
#define MSTATUS_MIE "8"

// The word of a hart that interrupts it.
static volatile uint32_t *msip(uint32_t hart) {
  return (volatile uint32_t *)(uintptr_t)bm_board_harts.clint +
         bm_board_harts.boot_hart + hart;
}

uint32_t bm_hal_hart(void) {
  uint32_t hart;
  __asm__("mv %0, tp" : "=r"(hart));
  return hart;
}

void bm_hal_hart_start(uint32_t hart) {
  bm_hal_harts_wake((uint32_t)1 << hart);
}

void bm_hal_harts_wake(uint32_t harts) {
  // Devices come after memory.
  __asm__ volatile("fence rw, o" ::: "memory");
  for (uint32_t hart = 0; harts != 0; ++hart, harts >>= 1) {
    if ((harts & 1) != 0) *msip(hart) = 1;
  }
}

void bm_hal_hart_sleep(void) {
  uintptr_t status;
  // Pending is enough to wake up, and the application's handler must not see
  // it.
  __asm__ volatile("csrrci %0, mstatus, " MSTATUS_MIE : "=r"(status)::"memory");
  __asm__ volatile("csrsi mie, " MIE_SOFTWARE "\n wfi" ::: "memory");
  *msip(bm_hal_hart()) = 0;
  // The caller looks at memory after that, so as not to miss what it has been
  // woken for.
  __asm__ volatile("fence o, r\n csrci mie, " MIE_SOFTWARE ::: "memory");
  __asm__ volatile("csrs mstatus, %0" ::"r"(status & 8) : "memory");
}

// Several harts in supervisor mode: the firmware in machine mode starts them
// and sends interrupts between them.
#include <stdbool.h>

#include "boards/common/sbi.h"
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/harts.h"
#include "runtime_bm/harts/harts.h"

// sie.SSIE, sip.SSIP and sstatus.SIE.
#define SOFTWARE "2"
#define SSTATUS_SIE "2"

// In start.S.
extern const char bm_hart_start[];

uint32_t bm_hal_hart(void) {
  uint32_t hart;
  __asm__("mv %0, tp" : "=r"(hart));
  return hart;
}

// The firmware knows harts by numbers of its own, and refuses to start the one
// that runs already. That may be any, so there is one more to try.
void bm_hal_hart_start(uint32_t hart) {
  static uint32_t tried;
  while (tried < bm_hart_count) {
    const uint32_t id = bm_board_harts.first_hart + tried++;
    if (bm_sbi_hart_start(id, (uintptr_t)bm_hart_start, hart)) return;
  }
}

void bm_hal_harts_wake(uint32_t harts) {
  // All of them, because hart 0 does not know its own number there.
  (void)harts;
  bm_sbi_interrupt_all();
}

void bm_hal_hart_sleep(void) {
  uintptr_t status;
  // Pending is enough to wake up, and the application's handler must not see
  // it.
  __asm__ volatile("csrrci %0, sstatus, " SSTATUS_SIE : "=r"(status)::"memory");
  __asm__ volatile("csrsi sie, " SOFTWARE "\n wfi" ::: "memory");
  // The caller looks at memory after that, so as not to miss what it has been
  // woken for.
  __asm__ volatile("csrci sip, " SOFTWARE "\n fence iorw, iorw" ::: "memory");
  __asm__ volatile("csrci sie, " SOFTWARE ::: "memory");
  __asm__ volatile("csrs sstatus, %0" ::"r"(status & 2) : "memory");
}

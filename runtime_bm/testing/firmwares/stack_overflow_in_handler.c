// Uses more stack than there is while it handles an interrupt: TRAP record,
// exit status 3. Only for boards with interrupts that enforce the guard.
#include "runtime_bm/hal/application.h"
#include "runtime_bm/testing/firmwares/plain.h"

extern const uintptr_t bm_stack_bottom[];

// How far into the guard to go.
enum { OVERRUN_BYTES = 4096 };

static int descend(volatile char *above) {
  volatile char frame[128];
  frame[0] = (char)(above[0] + 1);
  if ((uintptr_t)frame < (uintptr_t)bm_stack_bottom - OVERRUN_BYTES) {
    return frame[0];
  }
  return descend(frame) + frame[0] - above[0];
}

static void on_interrupt(uint32_t number) {
  volatile char first[1] = {(char)number};
  first[0] = (char)descend(first);
}

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  bm_hal_interrupts(on_interrupt);
  bm_hal_timer(bm_hal_time());
  for (;;) bm_hal_wait();
}

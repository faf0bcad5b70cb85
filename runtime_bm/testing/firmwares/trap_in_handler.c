// Executes an illegal instruction while it handles an interrupt: TRAP record,
// exit status 3. Only for boards with interrupts.
#include "runtime_bm/hal/application.h"
#include "runtime_bm/testing/firmwares/plain.h"

static void on_interrupt(uint32_t number) {
  (void)number;
  __builtin_trap();
}

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  bm_hal_interrupts(on_interrupt);
  bm_hal_timer(bm_hal_time());
  for (;;) bm_hal_wait();
}

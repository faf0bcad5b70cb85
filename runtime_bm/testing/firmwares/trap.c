// Executes an illegal instruction: TRAP record, exit status 3.
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  bm_trap_dispatch = 7;
  __builtin_trap();
}

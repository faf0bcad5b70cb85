// Executes an illegal instruction: TRAP record, exit status 3.
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  bm_trap_dispatch = 7;
  // All ones is no instruction. All zeros is none either, but VexRiscv executes
  // it.
  __asm__ volatile(".4byte 0xFFFFFFFF");
  return 0;
}

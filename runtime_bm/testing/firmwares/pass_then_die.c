// Prints PASS, then traps: must not count as passed.
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  WRITE("BM1 PASS cases=1\n");
  __builtin_trap();
}

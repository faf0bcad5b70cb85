// Writes and never ends; only a limit on output stops it early.
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  for (;;) WRITE_BOOT();
}

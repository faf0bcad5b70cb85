// Never ends; only the runner's deadline stops it.
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  for (;;) {
    __asm__ volatile("");
  }
}

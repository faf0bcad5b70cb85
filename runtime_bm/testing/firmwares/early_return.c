// Returns success without having passed anything.
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  return 0;
}

// An application that fails.
#include "runtime_bm/testing/firmwares/plain.h"

int main(void) {
  bm_hal_init();
  return 7;
}

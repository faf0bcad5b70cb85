// Uses more stack than there is, then claims success. Where the guard is
// enforced it ends with TRAP (exit status 3), elsewhere with ERROR (exit
// status 2) when main returns.
#include "runtime_bm/testing/firmwares/plain.h"

enum { TOO_DEEP = 1000 };

// Returns `depth`, by way of as many frames of 128 bytes.
static int descend(int depth) {
  volatile char frame[128];
  frame[0] = (char)depth;
  if (depth == 0) return 0;
  return descend(depth - 1) + 1 + (frame[0] - (char)depth);
}

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  const int reached = descend(TOO_DEEP);
  WRITE("BM1 PASS cases=1\n");
  return reached == TOO_DEEP ? 0 : 1;
}

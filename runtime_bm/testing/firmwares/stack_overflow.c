// Uses more stack than there is, then claims success. Where the guard is
// enforced it ends with TRAP (exit status 3), elsewhere with ERROR (exit
// status 2) when main returns.
#include "runtime_bm/testing/firmwares/plain.h"

// Deep enough for 128 KB of frames.
enum { TOO_DEEP = 1000 };

// The frame is handed down so that no compiler makes a loop of this.
static int descend(int depth, volatile char *above) {
  volatile char frame[128];
  frame[0] = (char)(above[0] + 1);
  if (depth == 0) return frame[0];
  return descend(depth - 1, frame) + frame[0] - above[0];
}

int main(void) {
  volatile char first[1] = {0};
  bm_hal_init();
  WRITE_BOOT();
  const int result = descend(TOO_DEEP, first);
  WRITE("BM1 PASS cases=1\n");
  return result == 0;
}

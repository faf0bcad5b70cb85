// Uses more stack than there is, then returns as if nothing had happened. If
// the guard is enforced it ends with TRAP (exit status 3), otherwise with ERROR
// (exit status 2) when main returns. Only for boards with one of our linker
// scripts.
#include "runtime_bm/testing/firmwares/plain.h"

extern const uintptr_t bm_stack_bottom[];

// How far into the guard to go.
enum { OVERRUN_BYTES = 4096 };

// Passing the frame down keeps compilers from turning this into a loop.
static int descend(volatile char *above) {
  volatile char frame[128];
  frame[0] = (char)(above[0] + 1);
  if ((uintptr_t)frame < (uintptr_t)bm_stack_bottom - OVERRUN_BYTES) {
    return frame[0];
  }
  return descend(frame) + frame[0] - above[0];
}

int main(void) {
  volatile char first[1] = {0};
  bm_hal_init();
  WRITE_BOOT();
  first[0] = (char)descend(first);
  return 0;
}

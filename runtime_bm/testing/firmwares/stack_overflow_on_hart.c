// Hart 1 uses more stack than it has, then returns as if nothing had happened.
// If its guard is enforced it ends with TRAP (exit status 3), otherwise with
// ERROR (exit status 2) when main returns.
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/testing/firmwares/plain.h"

extern const uintptr_t bm_stack_bottom[];
extern const uint32_t bm_stack_stride;

// How far into the guard to go.
enum { OVERRUN_BYTES = 4096 };

// Passing the frame down keeps compilers from turning this into a loop.
static int descend(volatile char *above, uintptr_t end) {
  volatile char frame[128];
  frame[0] = (char)(above[0] + 1);
  if ((uintptr_t)frame < end) return frame[0];
  return descend(frame, end) + frame[0] - above[0];
}

static void descend_on_hart_1(void *context, uint32_t hart) {
  volatile char first[1] = {0};
  (void)context;
  if (hart != 1) return;
  const uintptr_t bottom = (uintptr_t)bm_stack_bottom + bm_stack_stride;
  first[0] = (char)descend(first, bottom - OVERRUN_BYTES);
}

int main(void) {
  bm_hal_init();
  WRITE_BOOT();
  return bm_harts_run(descend_on_hart_1, NULL).bits != 0;
}

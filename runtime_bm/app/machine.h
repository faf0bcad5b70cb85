// Checks that the machine is one the image was built for.
#ifndef RUNTIME_BM_APP_MACHINE_H_
#define RUNTIME_BM_APP_MACHINE_H_

#include "runtime_bm/hal/hal.h"

// Returns 0, or prints an ERROR record and returns the exit status. Call it
// before the first kernel runs: a kernel built for longer vectors than the
// hart's would not trap, it would give a wrong answer.
int bm_machine_check(const bm_hal_cpu_t *cpu);

#endif  // RUNTIME_BM_APP_MACHINE_H_

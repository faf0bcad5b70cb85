// What the runtime needs from a machine besides hal.h in an image for several
// harts. Only boards that have them define these functions. Harts are numbered
// from 0, the one that runs main; the board knows which of its harts those are.
#ifndef RUNTIME_BM_HAL_HARTS_H_
#define RUNTIME_BM_HAL_HARTS_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// The number of the hart that calls.
uint32_t bm_hal_hart(void);

// Makes a hart call bm_harts_enter (runtime_bm/harts/harts.h) on a stack of its
// own. Called by hart 0, once for each other one, in ascending order. A hart
// that the machine does not have stays silent.
void bm_hal_hart_start(uint32_t hart);

// Wakes the harts whose bits are set, perhaps others too. What the caller has
// written before, they see.
void bm_hal_harts_wake(uint32_t harts);

// Sleeps until the calling hart is woken. A hart that was woken since it last
// slept does not sleep. May return early. No handler of the application runs
// meanwhile.
void bm_hal_hart_sleep(void);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_HAL_HARTS_H_

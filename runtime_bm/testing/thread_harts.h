// What a test may change about harts that are threads (thread_harts.c).
#ifndef RUNTIME_BM_TESTING_THREAD_HARTS_H_
#define RUNTIME_BM_TESTING_THREAD_HARTS_H_

#include <stdint.h>

#include "runtime_bm/hal/hal.h"

// A hart that does not start.
extern uint32_t thread_harts_absent;

// What bm_hal_cpu returns on each hart; NULL: the same.
extern const bm_hal_cpu_t *thread_harts_cpus;

// A number below `limit`.
uint32_t thread_harts_random(uint32_t limit);

// Waits for a random time, most times for none.
void thread_harts_dawdle(void);

#endif  // RUNTIME_BM_TESTING_THREAD_HARTS_H_

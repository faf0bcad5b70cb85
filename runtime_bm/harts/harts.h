// Several harts that do one thing together. Hart 0 runs the program; the others
// wait for jobs. An image for one hart has none of this: here are the functions
// that then do nothing, or only what one hart does.
#ifndef RUNTIME_BM_HARTS_HARTS_H_
#define RUNTIME_BM_HARTS_HARTS_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/hal/hal.h"

BM_EXTERN_C_BEGIN

// The most harts of an image: they are bits of a word, and a record lists them
// in one line.
enum { BM_MAX_HARTS = 16 };

// The build defines BM_SEVERAL_HARTS for images of more than one hart.
#ifdef BM_SEVERAL_HARTS

// The harts of this image, from the linker script.
extern const uint32_t bm_hart_count;

// The command of a plan that each hart runs, for reports of traps.
extern volatile uint32_t bm_hart_commands[BM_MAX_HARTS];

// Called on every hart with its number.
typedef void (*bm_harts_job_t)(void *context, uint32_t hart);

// Called on one hart while all others wait.
typedef void (*bm_harts_alone_t)(void *context);

// Starts the other harts, at the first call. Error: HART_MISSING when one did
// not come within a time that is long for any machine.
BM_MUST_USE bm_status_t bm_harts_start(void);

// The harts that have come, one bit each.
uint32_t bm_harts_present(void);

// Runs a job on all harts and returns once all have done it. Only hart 0 may
// call it, and not from a job. Starts the harts if necessary, with its error.
BM_MUST_USE bm_status_t bm_harts_run(bm_harts_job_t job, void *context);

// Within a job: waits until all harts have called it. What they wrote before,
// all see afterwards. The last one to come calls `alone`, unless it is NULL,
// and lets the others go on.
void bm_harts_meet(bm_harts_alone_t alone, void *context);

// Where startup sends the other harts.
BM_NORETURN void bm_harts_enter(uint32_t hart);

// Returns bm_hal_cpu(), reduced to what all harts have in common. Starts them
// if necessary; this hart's if one is missing.
bm_hal_cpu_t bm_harts_cpu(void);

// Does bm_hal_code_written on every hart.
BM_MUST_USE bm_status_t bm_harts_code_written(void *memory, size_t size);

#else

enum { bm_hart_count = 1 };

static inline bm_status_t bm_harts_start(void) { return bm_ok(); }

static inline uint32_t bm_harts_present(void) { return 1; }

static inline bm_hal_cpu_t bm_harts_cpu(void) { return bm_hal_cpu(); }

static inline bm_status_t bm_harts_code_written(void *memory, size_t size) {
  bm_hal_code_written(memory, size);
  return bm_ok();
}

#endif

BM_EXTERN_C_END

#endif  // RUNTIME_BM_HARTS_HARTS_H_

// What the runtime needs from a machine: eight functions, defined once per
// board and chosen by linking. There are no weak defaults: a missing function
// is a link error. All are called from one hart, or in an image for several
// (harts.h) by one at a time, but for the counters. Interrupts are off, unless
// an application turned them on (application.h).
#ifndef RUNTIME_BM_HAL_HAL_H_
#define RUNTIME_BM_HAL_HAL_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// The processor this code is running on, read from its own registers.
typedef struct bm_hal_cpu_t {
  const char *isa;     // for display: "rv64imafdcv"
  uint32_t isa_bits;   // BM_ISA_* of runtime_bm/base/isa.h
  uint32_t vlen_bits;  // length of a vector register; 0: no vectors
  // Timer ticks per second, as the machine reports them and as the image was
  // built for; 0: not stated.
  uint32_t timebase_hz;
  uint32_t board_timebase_hz;
} bm_hal_cpu_t;

// Firmware's main calls this once, before any other function here. A program
// that only uses bm.h need not call it.
void bm_hal_init(void);

// Describes the processor. Executes no instruction that it might lack.
bm_hal_cpu_t bm_hal_cpu(void);

// Writes to the console and returns when the bytes are on their way.
void bm_hal_console_write(const char *bytes, size_t size);

// Cycles and retired instructions since some point before bm_hal_init; 0 if the
// machine cannot count them.
uint64_t bm_hal_cycles(void);
uint64_t bm_hal_instret(void);

// Makes code that was written to `memory` (4096-byte aligned) executable and
// visible to instruction fetch.
void bm_hal_code_written(void *memory, size_t size);

// The most bytes of stack used so far; 0 if the machine does not know.
size_t bm_hal_stack_used(void);

// Ends the program with a process-style status: 0 is success.
BM_NORETURN void bm_hal_exit(uint32_t status);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_HAL_HAL_H_

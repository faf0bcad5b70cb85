// What the runtime asks of a machine: eight functions, defined once per board
// and chosen by linking. There are no weak defaults: a missing function is a
// link error. All are called from one hart with no interrupts.
#ifndef RUNTIME_BM_HAL_HAL_H_
#define RUNTIME_BM_HAL_HAL_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// The processor this code is running on, read from its own registers.
typedef struct bm_hal_cpu_t {
  const char *isa;     // for people: "rv64imafdcv"
  uint32_t isa_bits;   // BM_ISA_* of runtime_bm/base/isa.h
  uint32_t vlen_bits;  // length of a vector register, 0: no vectors
  // Ticks of the timer in a second, as the machine says and as the image was
  // built for; 0: not said.
  uint32_t timebase_hz;
  uint32_t board_timebase_hz;
} bm_hal_cpu_t;

// Called once by a firmware's main, before any other function here. A program
// that only uses bm.h need not call it.
void bm_hal_init(void);

// Describes the processor. Executes no instruction it might lack.
bm_hal_cpu_t bm_hal_cpu(void);

// Writes to the console and returns when the bytes are on their way.
void bm_hal_console_write(const char *bytes, size_t size);

// Cycles and retired instructions since some point before bm_hal_init; 0 from
// a machine that cannot count them.
uint64_t bm_hal_cycles(void);
uint64_t bm_hal_instret(void);

// Code was written to `memory` (4096-byte aligned): makes it executable and
// visible to instruction fetch.
void bm_hal_code_written(void *memory, size_t size);

// Most bytes of stack used so far, 0 from a machine that does not know.
size_t bm_hal_stack_used(void);

// Ends the program with a process-style status: 0 is success.
BM_NORETURN void bm_hal_exit(uint32_t status);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_HAL_HAL_H_

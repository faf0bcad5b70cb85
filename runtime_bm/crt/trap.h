// What the program tells a trap report.
#ifndef RUNTIME_BM_CRT_TRAP_H_
#define RUNTIME_BM_CRT_TRAP_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/text.h"
#ifdef BM_SEVERAL_HARTS
#include "runtime_bm/hal/harts.h"
#include "runtime_bm/harts/harts.h"
#endif

BM_EXTERN_C_BEGIN

#define BM_TRAP_NO_DISPATCH UINT32_MAX

// What is running, for the TRAP record: the name of a model (NULL if none) and
// the index of the command in its plan, or the last one of hart 0.
extern const char *volatile bm_trap_model;
extern volatile uint32_t bm_trap_dispatch;

// Returns the name of the kernel that contains the instruction at `pc` while a
// dispatch is running. NULL if there is no such function.
extern const char *(*volatile bm_trap_kernel_at)(uintptr_t pc);

// The command that this hart runs, while bm_trap_dispatch is one.
static inline uint32_t bm_trap_command(void) {
#ifdef BM_SEVERAL_HARTS
  return bm_hart_commands[bm_hal_hart()];
#else
  return bm_trap_dispatch;
#endif
}

// Appends a TRAP record with its newline.
void bm_trap_record(bm_text_t *text, uint64_t cause, uint64_t epc,
                    uint64_t tval);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_CRT_TRAP_H_

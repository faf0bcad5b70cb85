// What a trap report needs to know from the program.
#ifndef RUNTIME_BM_CRT_TRAP_H_
#define RUNTIME_BM_CRT_TRAP_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/text.h"

BM_EXTERN_C_BEGIN

#define BM_TRAP_NO_DISPATCH UINT32_MAX

// What is running, for the TRAP record: the name of a model, NULL if none, and
// the index of its plan's command.
extern const char *volatile bm_trap_model;
extern volatile uint32_t bm_trap_dispatch;

// Asked for the kernel that the instruction at `pc` belongs to, while a
// dispatch is running. NULL where nobody knows.
extern const char *(*volatile bm_trap_kernel_at)(uintptr_t pc);

// Appends a TRAP record with its line end.
void bm_trap_record(bm_text_t *text, uint64_t cause, uint64_t epc,
                    uint64_t tval);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_CRT_TRAP_H_

// What a trap report needs to know from the program.
#ifndef RUNTIME_BM_CRT_TRAP_H_
#define RUNTIME_BM_CRT_TRAP_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

#define BM_TRAP_NO_DISPATCH UINT32_MAX

// What is running, for the TRAP record: the name of a model, NULL if none, and
// the index of its plan's command. Defined by runtime_bm/crt on a target and by
// the board on a host.
extern const char *volatile bm_trap_model;
extern volatile uint32_t bm_trap_dispatch;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_CRT_TRAP_H_

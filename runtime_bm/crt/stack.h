// The stack of a target: painted at startup, with a guard below it.
#ifndef RUNTIME_BM_CRT_STACK_H_
#define RUNTIME_BM_CRT_STACK_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// Most bytes of stack in use at any time since reset. More than the stack has
// when the guard was overrun on a hart that cannot enforce it.
size_t bm_crt_stack_used(void);

// True when `address` lies in the guard.
bool bm_crt_is_stack_guard(uint64_t address);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_CRT_STACK_H_

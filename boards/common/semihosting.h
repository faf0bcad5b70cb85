// Semihosting: a debugger or an emulator answers what the program asks for.
#ifndef BOARDS_COMMON_SEMIHOSTING_H_
#define BOARDS_COMMON_SEMIHOSTING_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Ends the emulator with `status` as its exit status. Where nobody answers, the
// hart waits for ever.
BM_NORETURN void bm_semihosting_exit(uint32_t status);

#endif  // BOARDS_COMMON_SEMIHOSTING_H_

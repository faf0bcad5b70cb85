// Semihosting: a debugger or an emulator serves the program's requests.
#ifndef BOARDS_COMMON_SEMIHOSTING_H_
#define BOARDS_COMMON_SEMIHOSTING_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Ends the emulator with `status` as its exit status. If nobody answers, the
// hart waits forever.
BM_NORETURN void bm_semihosting_exit(uint32_t status);

#endif  // BOARDS_COMMON_SEMIHOSTING_H_

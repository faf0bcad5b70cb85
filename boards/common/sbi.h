// The supervisor binary interface: machine-mode services for supervisor mode.
#ifndef BOARDS_COMMON_SBI_H_
#define BOARDS_COMMON_SBI_H_

#include "runtime_bm/base/attributes.h"

// Restarts the board, which returns to its boot loader. Waits forever if the
// firmware cannot do that.
BM_NORETURN void bm_sbi_reboot(void);

#endif  // BOARDS_COMMON_SBI_H_

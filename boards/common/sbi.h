// The supervisor binary interface: machine-mode services for supervisor mode.
#ifndef BOARDS_COMMON_SBI_H_
#define BOARDS_COMMON_SBI_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Restarts the board, which returns to its boot loader. Waits forever if the
// firmware cannot do that.
BM_NORETURN void bm_sbi_reboot(void);

// Switches the board off; waits forever if the firmware cannot do that.
BM_NORETURN void bm_sbi_power_off(void);

// Interrupts this hart once the time is at least `time`. Only for 64 bits.
void bm_sbi_timer(uint64_t time);

#endif  // BOARDS_COMMON_SBI_H_

// The supervisor binary interface: machine-mode services for supervisor mode.
#ifndef BOARDS_COMMON_SBI_H_
#define BOARDS_COMMON_SBI_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Restarts the board, which returns to its boot loader. Waits forever if the
// firmware cannot do that.
BM_NORETURN void bm_sbi_reboot(void);

// Switches the board off; waits forever if the firmware cannot do that.
BM_NORETURN void bm_sbi_power_off(void);

// Interrupts this hart once the time is at least `time`. Only for 64 bits.
void bm_sbi_timer(uint64_t time);

// Lets a hart begin at `address` in supervisor mode, with `argument` in a1.
// `id` is the firmware's number of it. Returns false if there is none, or if it
// runs already.
bool bm_sbi_hart_start(uint32_t id, uintptr_t address, uintptr_t argument);

// Interrupts all harts that run in supervisor mode.
void bm_sbi_interrupt_all(void);

#endif  // BOARDS_COMMON_SBI_H_

// The "sifive,test" device of QEMU's machines, which ends the emulator.
#ifndef BOARDS_COMMON_SIFIVE_TEST_H_
#define BOARDS_COMMON_SIFIVE_TEST_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Ends the emulator with `status` (0..65535) as its exit status.
BM_NORETURN void bm_sifive_test_exit(uintptr_t base, uint32_t status);

#endif  // BOARDS_COMMON_SIFIVE_TEST_H_

// Shared by the firmware images without a model.
#ifndef RUNTIME_BM_TESTING_FIRMWARES_PLAIN_H_
#define RUNTIME_BM_TESTING_FIRMWARES_PLAIN_H_

#include "runtime_bm/hal/hal.h"

// Writes a string literal.
#define WRITE(literal) bm_hal_console_write((literal), sizeof(literal) - 1)

#define WRITE_BOOT() WRITE("BM1 BOOT isa=any vlen=0 board=test\n")

#endif  // RUNTIME_BM_TESTING_FIRMWARES_PLAIN_H_

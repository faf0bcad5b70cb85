// Kernels that need VLEN 256. On a hart with VLEN 128 it must end with ERROR
// and exit status 2 before any kernel runs; with 256 or more it passes.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

FAKE_FIRMWARE(&fake_vector_plan, &fake_golden, "rv64gcv_zvl256b");

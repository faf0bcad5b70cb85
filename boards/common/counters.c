// The counters that the privileged architecture requires.
#include "boards/common/csr.h"
#include "runtime_bm/hal/hal.h"

uint64_t bm_hal_cycles(void) { return bm_csr_mcycle(); }

uint64_t bm_hal_instret(void) { return bm_csr_minstret(); }

// What Spike and QEMU's spike machine offer to applications.
#include "boards/common/htif.h"
#include "runtime_bm/hal/application.h"

int32_t bm_hal_console_read(void) { return bm_htif_read(); }

// How firmware with models begins.
#ifndef RUNTIME_BM_APP_BOOT_H_
#define RUNTIME_BM_APP_BOOT_H_

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// Initializes the machine, writes the BOOT record, compares every byte that
// stays as it was built with the checks of the build, and checks that this hart
// can run the models. Returns 0, or, after an ERROR record, the exit status.
BM_MUST_USE int bm_boot(void);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_BOOT_H_

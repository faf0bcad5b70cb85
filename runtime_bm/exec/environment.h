// The environment that every kernel gets: an empty one. Compiled kernels import
// no functions, and processor features are folded in at compile time.
#ifndef RUNTIME_BM_EXEC_ENVIRONMENT_H_
#define RUNTIME_BM_EXEC_ENVIRONMENT_H_

#include "runtime_bm/abi/executable_library.h"

extern const bm_abi_environment_t bm_exec_environment;

#endif  // RUNTIME_BM_EXEC_ENVIRONMENT_H_

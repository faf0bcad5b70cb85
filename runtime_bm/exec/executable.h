// Opens a kernel library and checks that it is what a plan expects. Only this
// and dispatch.h know how IREE describes executables.
#ifndef RUNTIME_BM_EXEC_EXECUTABLE_H_
#define RUNTIME_BM_EXEC_EXECUTABLE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/base/status.h"

BM_EXTERN_C_BEGIN

// The only symbol of an executable that is loaded at run time, and its type.
#define BM_EXECUTABLE_QUERY_SYMBOL "iree_hal_executable_library_query"
typedef const void *(*bm_executable_query_t)(uint32_t max_version,
                                             const void *environment);

// An open kernel library. The fields are private to runtime_bm/exec.
typedef struct bm_executable_t {
  bm_cspan_t image;
  const void *library;
} bm_executable_t;

// The image of kernels that are linked into the program: all of memory.
static inline bm_cspan_t bm_executable_linked_image(void) {
  const bm_cspan_t everything = {NULL, SIZE_MAX};
  return everything;
}

// Queries the library and checks its description of itself. Everything it
// points to must be in `image`.
// Errors: UNIMPLEMENTED for another ABI version or a library that needs
// imports or constants, DATA_LOSS when it is malformed, INVALID_ARGUMENT when
// it does not have exactly `export_count` kernels.
BM_MUST_USE bm_status_t bm_executable_open(bm_executable_query_t query,
                                           bm_cspan_t image,
                                           uint32_t export_count,
                                           bm_executable_t *out_executable);

// Checks kernel `ordinal` (below export_count) against what the plan was built
// for. Errors: NOT_FOUND when it has another name, INVALID_ARGUMENT when it
// takes a different number of bindings or constants, UNIMPLEMENTED when it
// needs scratch memory or parameters, DATA_LOSS when its description is
// malformed.
BM_MUST_USE bm_status_t bm_executable_check(const bm_executable_t *executable,
                                            uint32_t ordinal, const char *name,
                                            uint32_t binding_count,
                                            uint32_t constant_count);

// The kernels in ordinal order, for bm_dispatcher_run.
const void *const *bm_executable_functions(const bm_executable_t *executable);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_EXEC_EXECUTABLE_H_

// Runs one kernel over its workgroups.
#ifndef RUNTIME_BM_EXEC_DISPATCH_H_
#define RUNTIME_BM_EXEC_DISPATCH_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// What one dispatch works on. Nothing here is checked: the plan was, once.
typedef struct bm_dispatch_t {
  const uint32_t *workgroup_count;  // x, y, z
  const uint32_t *constants;
  void *const *bindings;
  const size_t *binding_lengths;
  uint16_t constant_count;
  uint16_t binding_count;
} bm_dispatch_t;

// Calls `function` for every workgroup, x innermost. Returns 0, or what the
// first workgroup that failed returned.
BM_MUST_USE int bm_dispatch_run(const void *function,
                                const bm_dispatch_t *dispatch);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_EXEC_DISPATCH_H_

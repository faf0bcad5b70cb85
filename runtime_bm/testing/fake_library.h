// A handwritten kernel library in the form the compiler emits, so that runtime
// tests need no compiler. It also shows how the ABI is used.
#ifndef RUNTIME_BM_TESTING_FAKE_LIBRARY_H_
#define RUNTIME_BM_TESTING_FAKE_LIBRARY_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// Ordinals of the library's kernels.
enum {
  // out[i] = a[i] * b[i]. Bindings a, b, out (f32); constants: elements per
  // workgroup.
  FAKE_MULTIPLY = 0,
  // out[i] = a[i] + b[i]. The rest as above.
  FAKE_ADD = 1,
  // out[(z * count_y + y) * count_x + x] = x | y << 8 | z << 16. Binding out
  // (u32).
  FAKE_IDS = 2,
  // Returns constants[0].
  FAKE_RETURN = 3,
  FAKE_EXPORT_COUNT = 4,
};

// iree_hal_executable_library_query of the library.
const void *fake_library_query(uint32_t max_version, const void *environment);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TESTING_FAKE_LIBRARY_H_

#include "runtime_bm/exec/executable.h"

#include <stdbool.h>

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/base/range.h"
#include "runtime_bm/exec/environment.h"

#define BM_FILE BM_FILE_EXECUTABLE

const bm_abi_environment_t bm_exec_environment = {0};

// True when `count` objects of `bytes` bytes at `pointer` are in the image and
// aligned to 2^k bytes, as C requires.
static bool inside(bm_cspan_t image, const void *pointer, uint64_t count,
                   uint64_t bytes, uint64_t alignment) {
  const uint64_t offset = (uint64_t)(uintptr_t)pointer - (uintptr_t)image.data;
  return pointer != NULL && bm_is_aligned((uintptr_t)pointer, alignment) &&
         bm_range_fits(offset, count * bytes, image.size);
}

bm_status_t bm_executable_open(bm_executable_query_t query, bm_cspan_t image,
                               uint32_t export_count,
                               bm_executable_t *out_executable) {
  const bm_abi_library_t *library =
      query(BM_ABI_LIBRARY_VERSION, &bm_exec_environment);
  BM_CHECK(library != NULL, UNIMPLEMENTED);
  BM_CHECK(inside(image, library, 1, sizeof(*library), sizeof(void *)),
           DATA_LOSS);
  const bm_abi_library_header_t *header = library->header;
  BM_CHECK(inside(image, header, 1, sizeof(*header), sizeof(void *)),
           DATA_LOSS);
  BM_CHECK(header->version == BM_ABI_LIBRARY_VERSION, UNIMPLEMENTED);
  // A kernel built with a sanitizer would call into its run-time library.
  BM_CHECK(header->sanitizer == 0, UNIMPLEMENTED);
  BM_CHECK(library->imports.count == 0, UNIMPLEMENTED);
  BM_CHECK(library->constants.count == 0, UNIMPLEMENTED);

  const bm_abi_export_table_t *exports = &library->exports;
  BM_CHECK(exports->count == export_count, INVALID_ARGUMENT);
  BM_CHECK(inside(image, exports->functions, export_count,
                  sizeof(*exports->functions), sizeof(void *)),
           DATA_LOSS);
  BM_CHECK(inside(image, exports->attrs, export_count, sizeof(*exports->attrs),
                  sizeof(uint64_t)),
           DATA_LOSS);
  BM_CHECK(inside(image, exports->names, export_count, sizeof(*exports->names),
                  sizeof(void *)),
           DATA_LOSS);
  out_executable->image = image;
  out_executable->library = library;
  return bm_ok();
}

// True when the C string `name` is in the image and equals `expected`.
static bool name_is(bm_cspan_t image, const char *name, const char *expected) {
  for (; inside(image, name, 1, 1, 1) && *name == *expected; ++name) {
    if (*expected++ == '\0') return true;
  }
  return false;
}

bm_status_t bm_executable_check(const bm_executable_t *executable,
                                uint32_t ordinal, const char *name,
                                uint32_t binding_count,
                                uint32_t constant_count) {
  const bm_abi_library_t *library = executable->library;
  const bm_abi_export_table_t *exports = &library->exports;
  const bm_abi_dispatch_attrs_t *attrs = &exports->attrs[ordinal];
  // On these machines a function pointer can be compared as an address.
  BM_CHECK(
      inside(executable->image,
             (const void *)(uintptr_t)exports->functions[ordinal], 1, 1, 1),
      DATA_LOSS);
  BM_CHECK(name_is(executable->image, exports->names[ordinal], name),
           NOT_FOUND);
  BM_CHECK(attrs->binding_count == binding_count, INVALID_ARGUMENT);
  BM_CHECK(attrs->constant_count == constant_count, INVALID_ARGUMENT);
  BM_CHECK((attrs->flags & BM_ABI_DISPATCH_WORKGROUP_SIZE_DYNAMIC) == 0,
           UNIMPLEMENTED);
  BM_CHECK(attrs->local_memory_pages == 0, UNIMPLEMENTED);
  BM_CHECK(attrs->parameter_count == 0, UNIMPLEMENTED);
  return bm_ok();
}

const void *const *bm_executable_functions(const bm_executable_t *executable) {
  const bm_abi_library_t *library = executable->library;
  return (const void *const *)library->exports.functions;
}

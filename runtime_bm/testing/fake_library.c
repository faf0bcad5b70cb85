#include "runtime_bm/testing/fake_library.h"

#include <stdbool.h>
#include <stddef.h>

#include "runtime_bm/abi/executable_library.h"

// Whether a kernel is told what compiled ones may rely on.
static bool is_told(const bm_abi_environment_t *environment,
                    const bm_abi_dispatch_state_t *dispatch, uint32_t bindings,
                    uint32_t constants) {
  return environment != NULL && dispatch->workgroup_size_x == 1 &&
         dispatch->workgroup_size_y == 1 && dispatch->workgroup_size_z == 1 &&
         dispatch->max_concurrency != 0 &&
         dispatch->binding_count == bindings &&
         dispatch->constant_count == constants;
}

static int multiply(const bm_abi_environment_t *environment,
                    const bm_abi_dispatch_state_t *dispatch,
                    const bm_abi_workgroup_state_t *workgroup) {
  if (!is_told(environment, dispatch, 3, 1)) return 1;
  const float *a = dispatch->binding_pointers[0];
  const float *b = dispatch->binding_pointers[1];
  float *out = dispatch->binding_pointers[2];
  const uint32_t count = dispatch->constants[0];
  const uint32_t first = workgroup->id_x * count;
  for (uint32_t i = first; i < first + count; ++i) out[i] = a[i] * b[i];
  return 0;
}

static int add(const bm_abi_environment_t *environment,
               const bm_abi_dispatch_state_t *dispatch,
               const bm_abi_workgroup_state_t *workgroup) {
  if (!is_told(environment, dispatch, 3, 1)) return 1;
  const float *a = dispatch->binding_pointers[0];
  const float *b = dispatch->binding_pointers[1];
  float *out = dispatch->binding_pointers[2];
  const uint32_t count = dispatch->constants[0];
  const uint32_t first = workgroup->id_x * count;
  for (uint32_t i = first; i < first + count; ++i) out[i] = a[i] + b[i];
  return 0;
}

static int ids(const bm_abi_environment_t *environment,
               const bm_abi_dispatch_state_t *dispatch,
               const bm_abi_workgroup_state_t *workgroup) {
  if (!is_told(environment, dispatch, 1, 0)) return 1;
  uint32_t *out = dispatch->binding_pointers[0];
  const uint32_t row =
      workgroup->id_z * dispatch->workgroup_count_y + workgroup->id_y;
  out[row * dispatch->workgroup_count_x + workgroup->id_x] =
      workgroup->id_x | workgroup->id_y << 8 | (uint32_t)workgroup->id_z << 16;
  return 0;
}

static int return_constant(const bm_abi_environment_t *environment,
                           const bm_abi_dispatch_state_t *dispatch,
                           const bm_abi_workgroup_state_t *workgroup) {
  (void)workgroup;
  if (!is_told(environment, dispatch, 0, 1)) return 1;
  return (int)dispatch->constants[0];
}

static const bm_abi_dispatch_fn_t kFunctions[FAKE_EXPORT_COUNT] = {
    multiply, add, ids, return_constant};

static const bm_abi_dispatch_attrs_t kAttrs[FAKE_EXPORT_COUNT] = {
    {.constant_count = 1, .binding_count = 3},
    {.constant_count = 1, .binding_count = 3},
    {.constant_count = 0, .binding_count = 1},
    {.constant_count = 1, .binding_count = 0},
};

static const char *const kNames[FAKE_EXPORT_COUNT] = {
    "fake_multiply", "fake_add", "fake_ids", "fake_return"};

static const bm_abi_library_header_t kHeader = {
    .version = BM_ABI_LIBRARY_VERSION, .name = "fake"};

static const bm_abi_library_t kLibrary = {
    .header = &kHeader,
    .exports = {.count = FAKE_EXPORT_COUNT,
                .functions = kFunctions,
                .attrs = kAttrs,
                .names = kNames},
};

const void *fake_library_query(uint32_t max_version, const void *environment) {
  if (max_version < BM_ABI_LIBRARY_VERSION || environment == NULL) return NULL;
  return &kLibrary;
}

// The part of IREE's executable library ABI, version 6, that the runtime uses:
// how a compiled executable describes its kernels and how they are called.
//
// These declarations follow the layout observed in the output of iree-compile
// 3.13.0, which the assertions below check. Only runtime_bm/exec may include
// this file.
#ifndef RUNTIME_BM_ABI_EXECUTABLE_LIBRARY_H_
#define RUNTIME_BM_ABI_EXECUTABLE_LIBRARY_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

enum { BM_ABI_LIBRARY_VERSION = 6 };

// bm_abi_dispatch_attrs_t.flags.
enum {
  BM_ABI_DISPATCH_SEQUENTIAL = 1,
  BM_ABI_DISPATCH_WORKGROUP_SIZE_DYNAMIC = 2,
};

// Processor features and imported functions for a kernel. Compiled kernels have
// their features folded in and no imports, so all zeros work.
typedef struct bm_abi_environment_t {
  const uint32_t *constants;
  void *import_thunk;
  const void *import_functions;
  const void *import_contexts;
  uint64_t processor_data[8];
} bm_abi_environment_t;

// The same for every workgroup of a dispatch.
typedef struct bm_abi_dispatch_state_t {
  uint32_t workgroup_size_x;
  uint32_t workgroup_size_y;
  uint16_t workgroup_size_z;
  uint16_t constant_count;
  uint32_t workgroup_count_x;
  uint32_t workgroup_count_y;
  uint16_t workgroup_count_z;
  uint8_t max_concurrency;
  uint8_t binding_count;
  const uint32_t *constants;
  void *const *binding_pointers;
  const size_t *binding_lengths;
} bm_abi_dispatch_state_t;

typedef struct bm_abi_workgroup_state_t {
  uint32_t id_x;
  uint32_t id_y;
  uint16_t id_z;
  uint16_t reserved;
  uint32_t processor_id;
  void *local_memory;
  uint32_t local_memory_bytes;
} bm_abi_workgroup_state_t;

// One workgroup of a kernel. Returns 0 on success.
typedef int (*bm_abi_dispatch_fn_t)(const bm_abi_environment_t *environment,
                                    const bm_abi_dispatch_state_t *dispatch,
                                    const bm_abi_workgroup_state_t *workgroup);

typedef struct bm_abi_dispatch_attrs_t {
  uint64_t flags;
  uint16_t local_memory_pages;  // of 4096 bytes
  uint8_t constant_count;
  uint8_t binding_count;
  uint32_t workgroup_size_x;
  uint32_t workgroup_size_y;
  uint16_t workgroup_size_z;
  uint16_t parameter_count;
  uint64_t reserved[5];
} bm_abi_dispatch_attrs_t;

typedef struct bm_abi_library_header_t {
  uint32_t version;
  const char *name;
  uint32_t features;
  uint32_t sanitizer;
} bm_abi_library_header_t;

typedef struct bm_abi_export_table_t {
  uint32_t count;
  const bm_abi_dispatch_fn_t *functions;
  const bm_abi_dispatch_attrs_t *attrs;
  const void *params;
  const void *occupancy;
  const char *const *names;
  const void *tags;
  const void *parameter_names;
  const void *source_locations;
  const void *stage_locations;
} bm_abi_export_table_t;

typedef struct bm_abi_library_t {
  const bm_abi_library_header_t *header;
  struct {
    uint32_t count;
    const char *const *symbols;
  } imports;
  bm_abi_export_table_t exports;
  struct {
    uint32_t count;
  } constants;
  const void *sources[2];
} bm_abi_library_t;

// An executable's query function returns NULL when the library is newer than
// the requested version, else its bm_abi_library_t.

// Offsets and sizes with 8-byte and with 4-byte pointers.
#define BM_ABI_ASSERT(value, of_8, of_4)                           \
  BM_STATIC_ASSERT((sizeof(void *) == 8 && (value) == (of_8)) ||   \
                       (sizeof(void *) == 4 && (value) == (of_4)), \
                   "IREE executable ABI")
#define BM_ABI_ASSERT_FIELD(type, field, of_8, of_4) \
  BM_ABI_ASSERT(offsetof(type, field), of_8, of_4)
#define BM_ABI_ASSERT_SIZE(type, of_8, of_4) \
  BM_ABI_ASSERT(sizeof(type), of_8, of_4)

BM_ABI_ASSERT_SIZE(bm_abi_environment_t, 96, 80);
BM_ABI_ASSERT_FIELD(bm_abi_environment_t, processor_data, 32, 16);

BM_ABI_ASSERT_SIZE(bm_abi_dispatch_state_t, 48, 36);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, workgroup_size_z, 8, 8);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, constant_count, 10, 10);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, workgroup_count_x, 12, 12);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, workgroup_count_z, 20, 20);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, max_concurrency, 22, 22);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, binding_count, 23, 23);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, constants, 24, 24);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, binding_pointers, 32, 28);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_state_t, binding_lengths, 40, 32);

BM_ABI_ASSERT_SIZE(bm_abi_workgroup_state_t, 32, 24);
BM_ABI_ASSERT_FIELD(bm_abi_workgroup_state_t, id_z, 8, 8);
BM_ABI_ASSERT_FIELD(bm_abi_workgroup_state_t, processor_id, 12, 12);
BM_ABI_ASSERT_FIELD(bm_abi_workgroup_state_t, local_memory, 16, 16);
BM_ABI_ASSERT_FIELD(bm_abi_workgroup_state_t, local_memory_bytes, 24, 20);

BM_ABI_ASSERT_SIZE(bm_abi_dispatch_attrs_t, 64, 64);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_attrs_t, local_memory_pages, 8, 8);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_attrs_t, constant_count, 10, 10);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_attrs_t, binding_count, 11, 11);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_attrs_t, workgroup_size_x, 12, 12);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_attrs_t, parameter_count, 22, 22);
BM_ABI_ASSERT_FIELD(bm_abi_dispatch_attrs_t, reserved, 24, 24);

BM_ABI_ASSERT_SIZE(bm_abi_library_header_t, 24, 16);
BM_ABI_ASSERT_FIELD(bm_abi_library_header_t, name, 8, 4);

BM_ABI_ASSERT_SIZE(bm_abi_export_table_t, 80, 40);
BM_ABI_ASSERT_FIELD(bm_abi_export_table_t, functions, 8, 4);
BM_ABI_ASSERT_FIELD(bm_abi_export_table_t, attrs, 16, 8);
BM_ABI_ASSERT_FIELD(bm_abi_export_table_t, names, 40, 20);

BM_ABI_ASSERT_SIZE(bm_abi_library_t, 128, 64);
BM_ABI_ASSERT_FIELD(bm_abi_library_t, imports, 8, 4);
BM_ABI_ASSERT_FIELD(bm_abi_library_t, exports, 24, 12);
BM_ABI_ASSERT_FIELD(bm_abi_library_t, constants, 104, 52);

#endif  // RUNTIME_BM_ABI_EXECUTABLE_LIBRARY_H_

// The plan: a model's host program as constant tables.
//
// Commands are always tables. A straight-line entry point is a range of them.
// An entry point with control flow, or with values known only at run time, also
// has a driver: generated C that runs ranges of the same tables.
//
// The compiler (compiler/bmc) emits these tables, and the walker in plan_run.c
// reads them. Field order is the ABI. plan_abi.json states the same layout as
// data; plan_abi_test.c checks it against this header, and a compiler test
// checks it against the emitter. If you change any of it, also change
// BM_PLAN_ABI_VERSION.
#ifndef RUNTIME_BM_PLAN_PLAN_H_
#define RUNTIME_BM_PLAN_PLAN_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/dtype.h"
#include "runtime_bm/base/isa.h"
#include "runtime_bm/base/status.h"

BM_EXTERN_C_BEGIN

enum { BM_PLAN_ABI_VERSION = 2 };

// bm_plan_binding_t.region.
enum {
  BM_PLAN_REGION_ARENA = 0,
  BM_PLAN_REGION_WEIGHTS = 1,
  // What the model keeps from one run to the next.
  BM_PLAN_REGION_STATE = 2,
  BM_PLAN_REGION_COUNT = 3,
};

// bm_plan_command_t.kind.
enum {
  BM_COMMAND_DISPATCH = 0,
  BM_COMMAND_FILL = 1,
  BM_COMMAND_COPY = 2,
};

// bm_plan_command_t.flags.
enum {
  // All earlier commands must have finished. On one hart commands run in
  // order, so there is nothing to do; kept for schedulers.
  BM_COMMAND_BARRIER = 1,
};

enum {
  // Alignment of the arena, the weights and the state, and of every tensor and
  // dispatch binding in them. The compiled kernels rely on it.
  BM_PLAN_ALIGNMENT = 64,
  // Most bindings a dispatch may have; the walker keeps them on the stack.
  BM_PLAN_MAX_BINDINGS = 32,
  BM_PLAN_MAX_RANK = 8,
};

// Bytes a command reads or writes: [offset, offset + length) of a region.
typedef struct bm_plan_binding_t {
  uint32_t region;
  uint32_t offset;
  uint32_t length;
} bm_plan_binding_t;

// DISPATCH runs export `ordinal` over workgroup_count x*y*z workgroups.
// FILL sets bindings[0] to constants[0] (pattern), repeated every constants[1]
// bytes (1, 2 or 4; little endian).
// COPY copies bindings[0] to bindings[1]; same length, no overlap.
// FILL and COPY leave ordinal and workgroup_count zero.
// The same rules apply to a binding that a driver moves before the command
// runs, both as it is in the table and wherever bm_driver_bind* puts it.
typedef struct bm_plan_command_t {
  uint8_t kind;
  uint8_t flags;
  uint16_t ordinal;
  uint16_t binding_count;
  uint16_t constant_count;  // push constants, in 32-bit words
  uint32_t workgroup_count[3];
  uint32_t first_binding;
  uint32_t first_constant;
} bm_plan_command_t;

// An input or output: dense, row-major, at `offset` in the arena.
typedef struct bm_plan_tensor_t {
  const char *name;
  const uint32_t *shape;  // `rank` extents; NULL when rank is 0
  uint32_t dtype;         // bm_dtype_t
  uint32_t rank;
  uint32_t offset;
  uint32_t length;  // bytes
} bm_plan_tensor_t;

// A kernel that the executable must export, in ordinal order.
typedef struct bm_plan_export_t {
  const char *name;
  uint16_t binding_count;
  uint16_t constant_count;
} bm_plan_export_t;

struct bm_plan_runner_t;

// A function of the model. Its inputs and outputs are ranges of the plan's
// tables.
typedef struct bm_plan_entry_t {
  const char *name;
  // NULL: commands [first_command, first_command + command_count) in order.
  bm_status_t (*driver)(const struct bm_plan_runner_t *runner);
  uint32_t first_command;
  uint32_t command_count;
  uint32_t first_input;
  uint32_t input_count;
  uint32_t first_output;
  uint32_t output_count;
} bm_plan_entry_t;

typedef struct bm_plan_t {
  uint32_t abi_version;        // BM_PLAN_ABI_VERSION
  uint32_t isa;                // BM_ISA_* bits, all required
  uint32_t vlen_bits;          // smallest VLEN the kernels may run on; 0: none
  uint32_t arena_bytes;        // inputs, outputs and intermediates together
  uint32_t weights_bytes;      // read in place
  uint32_t kernels_elf_bytes;  // 0: prelinked
  const char *name;
  const uint8_t *weights;
  // Prelinked kernels: IREE's library query. NULL when loaded at run time.
  const void *(*library_query)(uint32_t max_version, const void *environment);
  // Kernels to load at run time, an embedded ELF. NULL when prelinked.
  const uint8_t *kernels_elf;
  const bm_plan_export_t *exports;
  uint32_t export_count;
  const bm_plan_command_t *commands;
  uint32_t command_count;
  const bm_plan_binding_t *bindings;
  uint32_t binding_count;
  const uint32_t *constants;
  uint32_t constant_count;
  const bm_plan_tensor_t *inputs;
  uint32_t input_count;
  const bm_plan_tensor_t *outputs;
  uint32_t output_count;
  uint32_t state_bytes;
  // Written by the model; NULL when it has no state.
  uint8_t *state;
  const bm_plan_entry_t *entries;  // bm_model_init returns the first
  uint32_t entry_count;
  // Commands [0, reset_count) write the state's initial value.
  uint32_t reset_count;
} bm_plan_t;

BM_ABI_SIZE(bm_plan_binding_t, 12, 12);
BM_ABI_SIZE(bm_plan_command_t, 28, 28);
BM_ABI_SIZE(bm_plan_tensor_t, 32, 24);
BM_ABI_SIZE(bm_plan_export_t, 16, 8);
BM_ABI_SIZE(bm_plan_entry_t, 40, 32);
BM_ABI_SIZE(bm_plan_t, 176, 108);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_PLAN_PLAN_H_

// The plan: a model's host program as constant tables.
//
// A plan has two parts. The first is a header followed by tables and strings:
// constant, without pointers, the same bytes wherever it lies and on 32 and on
// 64 bits. Everything in it is found by its offset from the header, so a plan
// can be flashed apart from the firmware. The second, bm_plan_t, is what only a
// linker or a loader can know: where the header, the weights, the kernels and
// the state are.
//
// Commands are always tables. A straight-line entry point is a range of them.
// An entry point with control flow, or with values known only at run time, also
// has a driver: generated C that runs ranges of the same tables.
//
// The compiler (compiler/bmc) emits plans, and the walker in plan_run.c reads
// them. Field order is the ABI. plan_abi.json states the same layout as data:
// plan_abi.py makes it of this header, and a compiler test checks it against
// the emitter. If you change any of it, also change BM_PLAN_ABI_VERSION.
// docs/decisions/0010 says why it is as it is, and what is there for later:
// this runtime answers UNIMPLEMENTED to that.
#ifndef RUNTIME_BM_PLAN_PLAN_H_
#define RUNTIME_BM_PLAN_PLAN_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/check.h"
#include "runtime_bm/base/dtype.h"
#include "runtime_bm/base/isa.h"
#include "runtime_bm/base/status.h"

BM_EXTERN_C_BEGIN

enum { BM_PLAN_ABI_VERSION = 8 };

// bm_plan_binding_t.region.
enum {
  BM_PLAN_REGION_ARENA = 0,
  BM_PLAN_REGION_WEIGHTS = 1,
  // What the model keeps from one run to the next.
  BM_PLAN_REGION_STATE = 2,
  // Fast memory, for tensors and copies of weights; a run keeps nothing there.
  BM_PLAN_REGION_FAST = 3,
  BM_PLAN_REGION_COUNT = 4,
};

// bm_plan_binding_t.access.
enum {
  BM_PLAN_ACCESS_READ = 1,
  BM_PLAN_ACCESS_WRITE = 2,
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
  // order, so there is nothing to do. Several harts run commands without a
  // barrier between them at the same time, so none of those may write what
  // another one reads or writes (bm_plan_verify_order).
  BM_COMMAND_BARRIER = 1,
};

enum {
  // Alignment of every region, and of every input and output. No binding may
  // ask for more.
  BM_PLAN_ALIGNMENT = 64,
  // Most bindings a dispatch may have; the walker keeps them on the stack.
  BM_PLAN_MAX_BINDINGS = 32,
  BM_PLAN_MAX_RANK = 8,
  // bm_plan_export_t.executable: the kernel is a function linked into the
  // firmware, and `ordinal` counts those.
  BM_PLAN_LINKED = 0xFFFF,
};

// bm_plan_entry_t.driver: the entry point has none.
#define BM_PLAN_NO_DRIVER UINT32_MAX

// `count` rows at `offset` bytes from the header; {0, 0} when there are none.
typedef struct bm_plan_table_t {
  uint32_t offset;
  uint32_t count;
} bm_plan_table_t;

// Bytes a command reads or writes: [offset, offset + length) of a region.
typedef struct bm_plan_binding_t {
  uint8_t region;
  uint8_t access;  // BM_PLAN_ACCESS_* bits
  // What `offset` is a multiple of, a power of two. A kernel relies on it, a
  // FILL needs that of its pattern, and a COPY none.
  uint16_t alignment;
  uint32_t offset;
  uint32_t length;
} bm_plan_binding_t;

// DISPATCH runs kernel `export_index` over workgroup_count x*y*z workgroups,
// which do not depend on each other.
// FILL sets bindings[0] to constants[0] (pattern), repeated every constants[1]
// bytes (1, 2 or 4; little endian).
// COPY copies bindings[0] to bindings[1]; same length, no overlap.
// FILL and COPY leave export_index and workgroup_count zero.
// The same rules apply to a binding that a driver moves before the command
// runs, both as it is in the table and wherever bm_driver_bind* puts it.
typedef struct bm_plan_command_t {
  uint8_t kind;
  uint8_t flags;
  uint16_t export_index;
  uint16_t binding_count;
  uint16_t constant_count;  // push constants, in 32-bit words
  uint32_t workgroup_count[3];
  uint32_t first_binding;
  uint32_t first_constant;
} bm_plan_command_t;

// An input or output: dense, row-major, at `offset` in the arena.
typedef struct bm_plan_tensor_t {
  uint32_t name;   // string
  uint32_t dtype;  // bm_dtype_t
  uint32_t rank;
  uint32_t first_extent;  // of `rank` in the table of extents
  uint32_t offset;
  uint32_t length;  // bytes
} bm_plan_tensor_t;

// A kernel: export `ordinal` of executable number `executable`.
typedef struct bm_plan_export_t {
  uint32_t name;  // string
  uint16_t executable;
  uint16_t ordinal;
  uint16_t binding_count;
  uint16_t constant_count;
} bm_plan_export_t;

// A function of the model. Its inputs and outputs are ranges of the plan's
// tables.
typedef struct bm_plan_entry_t {
  uint32_t name;  // string
  // BM_PLAN_NO_DRIVER: commands [first_command, first_command + command_count)
  // in order.
  uint32_t driver;
  uint32_t first_command;
  uint32_t command_count;
  uint32_t first_input;
  uint32_t input_count;
  uint32_t first_output;
  uint32_t output_count;
} bm_plan_entry_t;

typedef struct bm_plan_header_t {
  uint32_t abi_version;    // BM_PLAN_ABI_VERSION
  uint32_t bytes;          // header, tables and strings together
  uint32_t isa;            // BM_ISA_* bits, all required
  uint32_t vlen_bits;      // smallest VLEN the kernels may run on; 0: none
  uint32_t arena_bytes;    // inputs, outputs and intermediates together
  uint32_t weights_bytes;  // read in place
  uint32_t state_bytes;
  uint32_t fast_bytes;
  uint32_t name;  // string
  uint32_t executable_count;
  uint32_t driver_count;
  // Commands [0, reset_count) write the state's initial value.
  uint32_t reset_count;
  uint32_t function_count;  // of BM_PLAN_LINKED exports
  bm_plan_table_t exports;
  bm_plan_table_t commands;
  // Offset 0: a driver changes rows, so they are in memory, see bm_plan_t.
  bm_plan_table_t bindings;
  bm_plan_table_t constants;  // likewise
  bm_plan_table_t inputs;
  bm_plan_table_t outputs;
  bm_plan_table_t extents;  // of inputs and outputs
  bm_plan_table_t entries;  // bm_model_init returns the first
  // Characters. A string is the offset of its first one in this table; the
  // last character of the table is '\0'.
  bm_plan_table_t strings;
} bm_plan_header_t;

// Kernels that were compiled together. Exactly one of the two is given.
typedef struct bm_plan_executable_t {
  // Prelinked kernels: IREE's library query.
  const void *(*library_query)(uint32_t max_version, const void *environment);
  // Kernels to load at run time, an embedded ELF.
  const uint8_t *elf;
  uint32_t elf_bytes;
} bm_plan_executable_t;

// A function that an export names, whatever it takes: exec/call.h says.
typedef void (*bm_plan_function_t)(void);

struct bm_plan_runner_t;
typedef bm_status_t (*bm_plan_driver_t)(const struct bm_plan_runner_t *runner);

// What bm_plan_t.checks has a row for. A part that the model does not have is
// an empty range.
typedef enum bm_part_t {
  BM_PART_PLAN = 0,  // header, tables and strings
  BM_PART_KERNELS = 1,
  BM_PART_WEIGHTS = 2,
  BM_PART_COUNT = 3,
} bm_part_t;

// A plan in its place. NULL stands for whatever the model does not have.
typedef struct bm_plan_t {
  const bm_plan_header_t *header;
  const uint8_t *weights;
  // Written by the model.
  uint8_t *state;
  uint8_t *fast;
  const bm_plan_executable_t *executables;
  const bm_plan_driver_t *drivers;
  // The tables of a plan whose drivers change rows of them.
  bm_plan_binding_t *bindings;
  uint32_t *constants;
  // One row per bm_part_t; NULL: nothing to compare the bytes with.
  const bm_check_t *checks;
  // Those of BM_PLAN_LINKED exports.
  const bm_plan_function_t *functions;
  // Memory for a pointer to every export's function, if any is linked.
  const void **table;
  // Returns once everything is done that linked functions began and left to be
  // done, or says what failed. NULL: they leave nothing.
  bm_status_t (*wait)(void);
} bm_plan_t;

BM_ABI_SIZE(bm_plan_table_t, 8, 8);
BM_ABI_SIZE(bm_plan_binding_t, 12, 12);
BM_ABI_SIZE(bm_plan_command_t, 28, 28);
BM_ABI_SIZE(bm_plan_tensor_t, 24, 24);
BM_ABI_SIZE(bm_plan_export_t, 12, 12);
BM_ABI_SIZE(bm_plan_entry_t, 32, 32);
BM_ABI_SIZE(bm_plan_header_t, 124, 124);
BM_ABI_SIZE(bm_plan_executable_t, 24, 12);
BM_ABI_SIZE(bm_plan_t, 96, 48);

// The rows of a verified plan. What is returned for a table without rows must
// not be read.
static inline const void *bm_plan_rows(const bm_plan_t *plan,
                                       bm_plan_table_t table) {
  return (const uint8_t *)plan->header + table.offset;
}

static inline const bm_plan_export_t *bm_plan_exports(const bm_plan_t *plan) {
  return (const bm_plan_export_t *)bm_plan_rows(plan, plan->header->exports);
}

static inline const bm_plan_command_t *bm_plan_commands(const bm_plan_t *plan) {
  return (const bm_plan_command_t *)bm_plan_rows(plan, plan->header->commands);
}

static inline const bm_plan_binding_t *bm_plan_bindings(const bm_plan_t *plan) {
  if (plan->bindings != NULL) return plan->bindings;
  return (const bm_plan_binding_t *)bm_plan_rows(plan, plan->header->bindings);
}

static inline const uint32_t *bm_plan_constants(const bm_plan_t *plan) {
  if (plan->constants != NULL) return plan->constants;
  return (const uint32_t *)bm_plan_rows(plan, plan->header->constants);
}

static inline const bm_plan_tensor_t *bm_plan_inputs(const bm_plan_t *plan) {
  return (const bm_plan_tensor_t *)bm_plan_rows(plan, plan->header->inputs);
}

static inline const bm_plan_tensor_t *bm_plan_outputs(const bm_plan_t *plan) {
  return (const bm_plan_tensor_t *)bm_plan_rows(plan, plan->header->outputs);
}

static inline const uint32_t *bm_plan_extents(const bm_plan_t *plan) {
  return (const uint32_t *)bm_plan_rows(plan, plan->header->extents);
}

static inline const bm_plan_entry_t *bm_plan_entries(const bm_plan_t *plan) {
  return (const bm_plan_entry_t *)bm_plan_rows(plan, plan->header->entries);
}

static inline const char *bm_plan_string(const bm_plan_t *plan,
                                         uint32_t string) {
  return (const char *)bm_plan_rows(plan, plan->header->strings) + string;
}

BM_EXTERN_C_END

#endif  // RUNTIME_BM_PLAN_PLAN_H_

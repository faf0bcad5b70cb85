// Passes plans to bm_model_init and runs those it accepts. The input is a list
// of edits to the bytes of a plan: where, and the new value.
//
// The kernels read every byte of every binding, and write those in the arena.
// If init accepts a range that does not exist, the address sanitizer finds the
// access.
#include <stdbool.h>
#include <string.h>

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/plan/plan_verify.h"
#include "runtime_bm/testing/fake_model.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  // The number of rows of a table.
  MAX_ROWS = 16,
  MAX_REGION_BYTES = 0xFFFF,
  MAX_WORKGROUPS = 1000,
  NAME_BYTES = 6,
};

// The fake plan with more rows, all of which an edit may use.
typedef struct tables_t {
  bm_plan_header_t header;
  bm_plan_export_t exports[MAX_ROWS];
  bm_plan_command_t commands[MAX_ROWS];
  bm_plan_binding_t bindings[MAX_ROWS];
  uint32_t constants[MAX_ROWS];
  bm_plan_tensor_t inputs[MAX_ROWS];
  bm_plan_tensor_t outputs[MAX_ROWS];
  uint32_t extents[MAX_ROWS];
  bm_plan_entry_t entries[2];
  char strings[NAME_BYTES];
} tables_t;

static tables_t edited;

static bm_span_t arena;
static volatile uint32_t sink;

// Reads every byte of `bytes`, and writes it if `writable`. The sanitizer
// checks a whole range of memcpy at once; a loop over the bytes took most of
// the time.
static void touch_bytes(void *bytes, size_t size, bool writable) {
  static uint8_t copy[MAX_REGION_BYTES];
  FUZZ_ASSERT(size <= sizeof(copy));
  memcpy(copy, bytes, size);
  if (writable) memcpy(bytes, copy, size);
}

static int touch(const bm_abi_environment_t *environment,
                 const bm_abi_dispatch_state_t *dispatch,
                 const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  FUZZ_ASSERT(workgroup->id_x < dispatch->workgroup_count_x);
  FUZZ_ASSERT(workgroup->id_y < dispatch->workgroup_count_y);
  FUZZ_ASSERT(workgroup->id_z < dispatch->workgroup_count_z);
  for (uint32_t i = 0; i < dispatch->constant_count; ++i) {
    sink = dispatch->constants[i];
  }
  for (uint32_t i = 0; i < dispatch->binding_count; ++i) {
    uint8_t *bytes = dispatch->binding_pointers[i];
    const bool writable =
        bytes >= arena.data && bytes < arena.data + arena.size;
    touch_bytes(bytes, dispatch->binding_lengths[i], writable);
  }
  return 0;
}

static bm_abi_dispatch_fn_t functions[MAX_ROWS];
static bm_abi_dispatch_attrs_t attrs[MAX_ROWS];
static const char *names[MAX_ROWS];
static const bm_abi_library_header_t kHeader = {
    .version = BM_ABI_LIBRARY_VERSION, .name = "touch"};
static bm_abi_library_t library = {
    .header = &kHeader,
    .exports = {.functions = functions, .attrs = attrs, .names = names}};

static const void *query(uint32_t max_version, const void *environment) {
  (void)max_version;
  (void)environment;
  return &library;
}

static bm_plan_table_t table(size_t offset, uint32_t count) {
  const bm_plan_table_t rows = {(uint32_t)offset, count};
  return rows;
}

// Starts from the fake plan with its rows repeated.
static void reset(void) {
  edited.header = fake_tables.header;
  edited.header.bytes = sizeof(edited);
  edited.header.state_bytes = 256;
  edited.header.fast_bytes = 128;
  edited.header.exports = table(offsetof(tables_t, exports), FAKE_EXPORT_COUNT);
  edited.header.commands =
      table(offsetof(tables_t, commands), FAKE_COMMAND_COUNT);
  edited.header.bindings =
      table(offsetof(tables_t, bindings), FAKE_BINDING_COUNT);
  edited.header.constants =
      table(offsetof(tables_t, constants), FAKE_CONSTANT_COUNT);
  edited.header.inputs = table(offsetof(tables_t, inputs), 1);
  edited.header.outputs = table(offsetof(tables_t, outputs), 1);
  edited.header.extents = table(offsetof(tables_t, extents), MAX_ROWS);
  edited.header.entries = table(offsetof(tables_t, entries), 1);
  edited.header.strings = table(offsetof(tables_t, strings), NAME_BYTES);
  for (uint16_t i = 0; i < MAX_ROWS; ++i) {
    edited.exports[i] = fake_tables.exports[i % FAKE_EXPORT_COUNT];
    edited.exports[i].name = 0;
    edited.exports[i].ordinal = i;
    edited.commands[i] = fake_tables.commands[i % FAKE_COMMAND_COUNT];
    edited.bindings[i] = fake_tables.bindings[i % FAKE_BINDING_COUNT];
    edited.constants[i] = fake_tables.constants[i % FAKE_CONSTANT_COUNT];
    edited.inputs[i] = fake_tables.inputs[0];
    edited.inputs[i].name = 0;
    edited.outputs[i] = fake_tables.outputs[0];
    edited.outputs[i].name = 0;
    edited.extents[i] = fake_tables.extents[i % 2];
  }
  for (uint32_t i = 0; i < 2; ++i) {
    edited.entries[i] = fake_tables.entries[0];
    edited.entries[i].name = 0;
  }
  memcpy(edited.strings, "touch", NAME_BYTES);
}

// Kernels that are what the plan says of them.
static void make_library(void) {
  for (uint32_t i = 0; i < MAX_ROWS; ++i) {
    functions[i] = touch;
    names[i] = "touch";
    attrs[i].binding_count = (uint8_t)edited.exports[i].binding_count;
    attrs[i].constant_count = (uint8_t)edited.exports[i].constant_count;
  }
  library.exports.count = edited.header.exports.count;
}

static uint64_t workgroups(const bm_plan_t *plan) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < plan->header->commands.count; ++i) {
    uint64_t product = 1;
    for (uint32_t d = 0; d < 3; ++d) {
      product *= bm_plan_commands(plan)[i].workgroup_count[d];
      if (product > MAX_WORKGROUPS) return product;
    }
    sum += product;
  }
  return sum;
}

static void try_plan(const bm_plan_t *plan) {
  static const bm_span_t kNoCode = {NULL, 0};
  bm_model_t model;
  if (bm_plan_verify(plan).bits != 0) return;
  for (uint32_t i = 0; i < plan->header->commands.count; ++i) {
    const bm_plan_command_t *command = &bm_plan_commands(plan)[i];
    for (uint32_t b = 0; b < command->binding_count; ++b) {
      const bm_plan_binding_t *binding =
          &bm_plan_bindings(plan)[command->first_binding + b];
      FUZZ_ASSERT(binding->offset % binding->alignment == 0);
      FUZZ_ASSERT(BM_PLAN_ALIGNMENT % binding->alignment == 0);
    }
  }
  // The library has no more kernels. It is checked before init, which runs the
  // commands that reset the state.
  if (plan->header->exports.count > MAX_ROWS) return;
  if (workgroups(plan) > MAX_WORKGROUPS) return;
  if (bm_model_init(&model, plan, arena, kNoCode).bits != 0) return;
  for (uint32_t i = 0; i < bm_plan_entries(plan)->input_count; ++i) {
    bm_tensor_t input;
    FUZZ_ASSERT(bm_model_input(&model, i, &input).bits == 0);
    memset(input.data, 1, input.bytes);
  }
  FUZZ_ASSERT(bm_model_run(&model).bits == 0);
  for (uint32_t i = 0; i < bm_plan_entries(plan)->output_count; ++i) {
    bm_tensor_t output;
    FUZZ_ASSERT(bm_model_output(&model, i, &output).bits == 0);
    touch_bytes(output.data, output.bytes, false);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bm_plan_executable_t kKernels = {.library_query = query};
  fuzz_input_t input = {data, size};
  reset();
  while (input.size > 0) {
    const uint32_t offset = fuzz_half(&input);
    ((uint8_t *)&edited)[offset % sizeof(edited)] = (uint8_t)fuzz_byte(&input);
  }
  // What a loader promises: this many bytes are there.
  bm_plan_header_t *header = &edited.header;
  if (header->bytes > sizeof(edited)) header->bytes = sizeof(edited);
  header->arena_bytes &= MAX_REGION_BYTES;
  header->weights_bytes &= MAX_REGION_BYTES;
  header->state_bytes &= MAX_REGION_BYTES;
  header->fast_bytes &= MAX_REGION_BYTES;
  const size_t bytes =
      header->bytes < sizeof(*header) ? sizeof(*header) : header->bytes;
  make_library();

  void *copy = fuzz_memory(sizeof(uint64_t), bytes);
  memcpy(copy, &edited, bytes);
  const bm_plan_t plan = {
      .header = copy,
      .weights = fuzz_memory(BM_PLAN_ALIGNMENT, header->weights_bytes),
      .state = fuzz_memory(BM_PLAN_ALIGNMENT, header->state_bytes),
      .fast = fuzz_memory(BM_PLAN_ALIGNMENT, header->fast_bytes),
      .executables = &kKernels,
  };
  arena.size = header->arena_bytes;
  arena.data = fuzz_memory(BM_PLAN_ALIGNMENT, arena.size);
  memset((void *)(uintptr_t)plan.weights, 0, header->weights_bytes);
  memset(arena.data, 0, arena.size);
  memset(plan.state, 0, header->state_bytes);
  memset(plan.fast, 0, header->fast_bytes);
  try_plan(&plan);
  free(plan.state);
  free(plan.fast);
  free(arena.data);
  free((void *)(uintptr_t)plan.weights);
  free(copy);
  return 0;
}

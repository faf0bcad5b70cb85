// Passes plans to bm_model_init and runs those it accepts. The input is a list
// of edits to the fake plan: which table, which byte of it, the new value.
//
// The kernels read every byte of every binding, and write those in the arena.
// If init accepts a range that does not exist, the address sanitizer finds the
// access.
#include <stdbool.h>
#include <string.h>

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/testing/fake_model.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  // The number of rows a table may grow to.
  MAX_ROWS = 16,
  MAX_REGION_BYTES = 0xFFFF,
  MAX_WORKGROUPS = 1000,
};

// Everything an edit may change. Pointers are left out: a plan does not choose
// where its tables are.
static struct {
  uint32_t scalars[5];  // abi_version, isa, vlen_bits, arena, weights
  uint8_t counts[6];    // exports, commands, bindings, constants, in, out
  uint8_t entry[6];     // first and count of commands, in, out
  uint8_t reset_count;
  uint16_t state_bytes;
  uint16_t export_counts[MAX_ROWS][2];
  bm_plan_command_t commands[MAX_ROWS];
  bm_plan_binding_t bindings[MAX_ROWS];
  uint32_t constants[MAX_ROWS];
  uint32_t tensors[MAX_ROWS][4];  // dtype, rank, offset, length
  uint32_t shapes[MAX_ROWS][BM_PLAN_MAX_RANK];
} editable;

static bm_span_t arena;
static volatile uint8_t sink;

static int touch(const bm_abi_environment_t *environment,
                 const bm_abi_dispatch_state_t *dispatch,
                 const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  FUZZ_ASSERT(workgroup->id_x < dispatch->workgroup_count_x);
  FUZZ_ASSERT(workgroup->id_y < dispatch->workgroup_count_y);
  FUZZ_ASSERT(workgroup->id_z < dispatch->workgroup_count_z);
  for (uint32_t i = 0; i < dispatch->constant_count; ++i) {
    sink = (uint8_t)dispatch->constants[i];
  }
  for (uint32_t i = 0; i < dispatch->binding_count; ++i) {
    uint8_t *bytes = dispatch->binding_pointers[i];
    const bool writable =
        bytes >= arena.data && bytes < arena.data + arena.size;
    FUZZ_ASSERT((uintptr_t)bytes % BM_PLAN_ALIGNMENT == 0);
    for (size_t b = 0; b < dispatch->binding_lengths[i]; ++b) {
      sink = bytes[b];
      if (writable) bytes[b] = sink;
    }
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

// Starts from the fake plan with its rows repeated.
static void reset(void) {
  const uint32_t scalars[] = {BM_PLAN_ABI_VERSION, FAKE_ISA, 0,
                              FAKE_ARENA_BYTES, FAKE_WEIGHTS_BYTES};
  const uint8_t counts[] = {FAKE_EXPORT_COUNT,
                            FAKE_COMMAND_COUNT,
                            FAKE_BINDING_COUNT,
                            FAKE_CONSTANT_COUNT,
                            1,
                            1};
  memcpy(editable.scalars, scalars, sizeof(scalars));
  memcpy(editable.counts, counts, sizeof(counts));
  const uint8_t entry[] = {0, FAKE_COMMAND_COUNT, 0, 1, 0, 1};
  memcpy(editable.entry, entry, sizeof(entry));
  editable.reset_count = 0;
  editable.state_bytes = 256;
  for (uint32_t i = 0; i < MAX_ROWS; ++i) {
    const bm_plan_export_t *from = &fake_exports[i % FAKE_EXPORT_COUNT];
    editable.export_counts[i][0] = from->binding_count;
    editable.export_counts[i][1] = from->constant_count;
    editable.commands[i] = fake_commands[i % FAKE_COMMAND_COUNT];
    editable.bindings[i] = fake_bindings[i % FAKE_BINDING_COUNT];
    editable.constants[i] = fake_constants[i % FAKE_CONSTANT_COUNT];
    const uint32_t tensor[] = {BM_DTYPE_F32, 2, 0, 256};
    memcpy(editable.tensors[i], tensor, sizeof(tensor));
    editable.shapes[i][0] = 2;
    editable.shapes[i][1] = 32;
  }
}

// A copy of exactly `count` rows, or NULL if there are none.
static void *rows(const void *table, uint32_t count, size_t row_bytes) {
  if (count == 0) return NULL;
  void *copy = fuzz_memory(64, count * row_bytes);
  memcpy(copy, table, count * row_bytes);
  return copy;
}

static bm_plan_export_t *make_exports(uint32_t count) {
  bm_plan_export_t table[MAX_ROWS];
  for (uint32_t i = 0; i < count; ++i) {
    table[i].name = "touch";
    table[i].binding_count = editable.export_counts[i][0];
    table[i].constant_count = editable.export_counts[i][1];
    functions[i] = touch;
    names[i] = "touch";
    attrs[i].binding_count = (uint8_t)table[i].binding_count;
    attrs[i].constant_count = (uint8_t)table[i].constant_count;
  }
  library.exports.count = count;
  return rows(table, count, sizeof(table[0]));
}

static bm_plan_tensor_t *make_tensors(uint32_t count, uint32_t first) {
  bm_plan_tensor_t table[MAX_ROWS];
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t *fields = editable.tensors[(first + i) % MAX_ROWS];
    table[i].name = "tensor";
    table[i].shape = editable.shapes[(first + i) % MAX_ROWS];
    table[i].dtype = fields[0];
    table[i].rank = fields[1];
    table[i].offset = fields[2];
    table[i].length = fields[3];
  }
  return rows(table, count, sizeof(table[0]));
}

static uint64_t workgroups(const bm_plan_t *plan) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < plan->command_count; ++i) {
    uint64_t product = 1;
    for (uint32_t d = 0; d < 3; ++d) {
      product *= plan->commands[i].workgroup_count[d];
      if (product > MAX_WORKGROUPS) return product;
    }
    sum += product;
  }
  return sum;
}

static void try_plan(const bm_plan_t *plan) {
  static const bm_span_t kNoCode = {NULL, 0};
  bm_model_t model;
  // Before init, which runs the commands that reset the state.
  if (workgroups(plan) > MAX_WORKGROUPS) return;
  if (bm_model_init(&model, plan, arena, kNoCode).bits != 0) return;
  for (uint32_t i = 0; i < plan->entries->input_count; ++i) {
    bm_tensor_t input;
    FUZZ_ASSERT(bm_model_input(&model, i, &input).bits == 0);
    memset(input.data, 1, input.bytes);
  }
  FUZZ_ASSERT(bm_model_run(&model).bits == 0);
  for (uint32_t i = 0; i < plan->entries->output_count; ++i) {
    bm_tensor_t output;
    FUZZ_ASSERT(bm_model_output(&model, i, &output).bits == 0);
    for (size_t b = 0; b < output.bytes; ++b)
      sink = ((uint8_t *)output.data)[b];
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  reset();
  while (input.size > 0) {
    const uint32_t offset = fuzz_half(&input);
    ((uint8_t *)&editable)[offset % sizeof(editable)] =
        (uint8_t)fuzz_byte(&input);
  }
  for (uint32_t i = 0; i < 6; ++i) editable.counts[i] %= MAX_ROWS + 1;

  const bm_plan_entry_t entry = {
      .name = "fuzz",
      .first_command = editable.entry[0],
      .command_count = editable.entry[1],
      .first_input = editable.entry[2],
      .input_count = editable.entry[3],
      .first_output = editable.entry[4],
      .output_count = editable.entry[5],
  };
  const uint32_t weights_bytes = editable.scalars[4] & MAX_REGION_BYTES;
  bm_plan_t plan = {
      .abi_version = editable.scalars[0],
      .isa = editable.scalars[1],
      .vlen_bits = editable.scalars[2],
      .arena_bytes = editable.scalars[3] & MAX_REGION_BYTES,
      .weights_bytes = weights_bytes,
      .name = "fuzz",
      .weights = fuzz_memory(BM_PLAN_ALIGNMENT, weights_bytes),
      .library_query = query,
      .exports = make_exports(editable.counts[0]),
      .export_count = editable.counts[0],
      .commands = rows(editable.commands, editable.counts[1],
                       sizeof(editable.commands[0])),
      .command_count = editable.counts[1],
      .bindings = rows(editable.bindings, editable.counts[2],
                       sizeof(editable.bindings[0])),
      .binding_count = editable.counts[2],
      .constants = rows(editable.constants, editable.counts[3],
                        sizeof(editable.constants[0])),
      .constant_count = editable.counts[3],
      .inputs = make_tensors(editable.counts[4], 0),
      .input_count = editable.counts[4],
      .outputs = make_tensors(editable.counts[5], MAX_ROWS / 2),
      .output_count = editable.counts[5],
      .state_bytes = editable.state_bytes,
      .state = fuzz_memory(BM_PLAN_ALIGNMENT, editable.state_bytes),
      .entries = &entry,
      .entry_count = 1,
      .reset_count = editable.reset_count,
  };
  arena.size = plan.arena_bytes;
  arena.data = fuzz_memory(BM_PLAN_ALIGNMENT, arena.size);
  memset((void *)(uintptr_t)plan.weights, 0, weights_bytes);
  memset(arena.data, 0, arena.size);
  memset(plan.state, 0, plan.state_bytes);
  try_plan(&plan);
  free(plan.state);
  free(arena.data);
  free((void *)(uintptr_t)plan.weights);
  free((void *)(uintptr_t)plan.exports);
  free((void *)(uintptr_t)plan.commands);
  free((void *)(uintptr_t)plan.bindings);
  free((void *)(uintptr_t)plan.constants);
  free((void *)(uintptr_t)plan.inputs);
  free((void *)(uintptr_t)plan.outputs);
  return 0;
}

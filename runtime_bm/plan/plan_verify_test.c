// Every check of the verifier, one corrupted field at a time.
#include "runtime_bm/plan/plan_verify.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

// A copy of the fake plan that a test may corrupt.
static bm_plan_t plan;
static fake_tables_t tables;
static bm_plan_executable_t executable;
static _Alignas(BM_PLAN_ALIGNMENT) uint8_t state[256];

// Commands of the fake plan.
enum { FILL = 0, COPY = 1, MULTIPLY = 2, ADD = 3 };

#define READ BM_PLAN_ACCESS_READ
#define WRITE BM_PLAN_ACCESS_WRITE

static void reset(void) {
  plan = fake_plan;
  tables = fake_tables;
  executable = fake_executable;
  plan.header = &tables.header;
  plan.executables = &executable;
}

// Sets one field of the copy and expects `code`.
#define EXPECT_SPOILED(lvalue, value, code)      \
  do {                                           \
    reset();                                     \
    (lvalue) = (value);                          \
    BM_EXPECT_CODE(bm_plan_verify(&plan), code); \
  } while (0)

static void accepts_the_fake_plan(void) {
  BM_EXPECT_OK(bm_plan_verify(&fake_plan));
  reset();
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

static void accepts_a_plan_without_kernels(void) {
  const bm_plan_table_t no_rows = {0, 0};
  reset();
  plan.executables = NULL;
  tables.header.executable_count = 0;
  tables.header.exports = no_rows;
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);  // it has dispatches
  tables.commands[MULTIPLY] = tables.commands[COPY];
  tables.commands[ADD] = tables.commands[COPY];
  BM_EXPECT_OK(bm_plan_verify(&plan));
  tables.header.executable_count = 1;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
}

static void checks_the_header(void) {
  EXPECT_SPOILED(plan.header, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.header,
                 (const bm_plan_header_t *)((uintptr_t)&tables.header + 1),
                 DATA_LOSS);
  EXPECT_SPOILED(tables.header.abi_version, 0, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.header.abi_version, BM_PLAN_ABI_VERSION + 1,
                 UNIMPLEMENTED);
  EXPECT_SPOILED(tables.header.bytes, sizeof(bm_plan_header_t) - 1, DATA_LOSS);
  EXPECT_SPOILED(tables.header.isa, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.header.isa, BM_ISA_RV64 | BM_ISA_X86_64, DATA_LOSS);
  EXPECT_SPOILED(tables.header.isa, FAKE_ISA | 1 << 11, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.header.isa, BM_ISA_RV32 | BM_ISA_RV64, DATA_LOSS);
  EXPECT_SPOILED(tables.header.isa, FAKE_ISA | BM_ISA_V, DATA_LOSS);
  EXPECT_SPOILED(tables.header.isa, FAKE_ISA | BM_ISA_ZVE32F, DATA_LOSS);
  EXPECT_SPOILED(tables.header.vlen_bits, 128, DATA_LOSS);
  EXPECT_SPOILED(tables.header.name, FAKE_STRINGS_BYTES, DATA_LOSS);
  EXPECT_SPOILED(tables.header.name, UINT32_MAX, DATA_LOSS);
  EXPECT_SPOILED(tables.header.reset_count, FAKE_COMMAND_COUNT + 1, DATA_LOSS);
  EXPECT_SPOILED(tables.strings[FAKE_STRINGS_BYTES - 1], 'x', DATA_LOSS);
}

static void checks_what_is_linked(void) {
  const uint8_t *elf = (const uint8_t *)fake_weights;
  EXPECT_SPOILED(plan.weights, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.weights, (const uint8_t *)fake_weights + 32, DATA_LOSS);
  EXPECT_SPOILED(plan.executables, NULL, DATA_LOSS);
  EXPECT_SPOILED(executable.library_query, NULL, DATA_LOSS);
  EXPECT_SPOILED(executable.elf, elf, DATA_LOSS);
  EXPECT_SPOILED(executable.elf_bytes, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.header.executable_count, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.header.executable_count, 2, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.header.function_count, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.header.driver_count, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.header.state_bytes, 1, DATA_LOSS);
  EXPECT_SPOILED(plan.state, state + 1, DATA_LOSS);
  EXPECT_SPOILED(tables.header.fast_bytes, 1, DATA_LOSS);
  EXPECT_SPOILED(plan.fast, state + 1, DATA_LOSS);
  // An ELF in place of linked kernels.
  reset();
  executable.library_query = NULL;
  executable.elf = elf;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  executable.elf_bytes = 1;
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

// Every table lies within the plan, behind the header, aligned.
static void checks_a_table(bm_plan_table_t *table, uint32_t row_bytes) {
  EXPECT_SPOILED(table->offset, 0, OUT_OF_RANGE);
  EXPECT_SPOILED(table->offset, sizeof(bm_plan_header_t) - 4, OUT_OF_RANGE);
  EXPECT_SPOILED(table->offset, sizeof(tables) - 4 * (row_bytes > 4),
                 OUT_OF_RANGE);
  EXPECT_SPOILED(table->offset, UINT32_MAX - 3, OUT_OF_RANGE);
  EXPECT_SPOILED(table->count, UINT32_MAX, OUT_OF_RANGE);
  // In 32 bits, its size is a multiple of 2^32.
  EXPECT_SPOILED(table->count, 1u << 30, OUT_OF_RANGE);
  EXPECT_SPOILED(table->count, sizeof(tables) / row_bytes + 1, OUT_OF_RANGE);
  EXPECT_SPOILED(table->count, 0, OUT_OF_RANGE);
  if (row_bytes == 1) return;
  EXPECT_SPOILED(table->offset, table->offset + 2, OUT_OF_RANGE);
}

static void checks_the_tables(void) {
  bm_plan_header_t *header = &tables.header;
  checks_a_table(&header->exports, sizeof(bm_plan_export_t));
  checks_a_table(&header->commands, sizeof(bm_plan_command_t));
  checks_a_table(&header->bindings, sizeof(bm_plan_binding_t));
  checks_a_table(&header->constants, sizeof(uint32_t));
  checks_a_table(&header->inputs, sizeof(bm_plan_tensor_t));
  checks_a_table(&header->outputs, sizeof(bm_plan_tensor_t));
  checks_a_table(&header->extents, sizeof(uint32_t));
  checks_a_table(&header->entries, sizeof(bm_plan_entry_t));
  checks_a_table(&header->strings, 1);
  // The plan states its own size.
  EXPECT_SPOILED(header->bytes, sizeof(tables) - FAKE_STRINGS_BYTES,
                 OUT_OF_RANGE);
}

static void needs_what_is_referred_to(void) {
  const bm_plan_table_t no_rows = {0, 0};
  EXPECT_SPOILED(tables.header.commands, no_rows, DATA_LOSS);
  EXPECT_SPOILED(tables.header.bindings, no_rows, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.header.entries, no_rows, DATA_LOSS);
  EXPECT_SPOILED(tables.header.strings, no_rows, DATA_LOSS);
}

static void finds_rows_that_drivers_change_in_memory(void) {
  static bm_plan_binding_t bindings[FAKE_BINDING_COUNT];
  static uint32_t constants[FAKE_CONSTANT_COUNT];
  reset();
  memcpy(bindings, tables.bindings, sizeof(bindings));
  memcpy(constants, tables.constants, sizeof(constants));
  plan.bindings = bindings;
  plan.constants = constants;
  // There is one such table and not two.
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);
  tables.header.bindings.offset = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);
  tables.header.constants.offset = 0;
  BM_EXPECT_OK(bm_plan_verify(&plan));
  constants[1] = 3;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  constants[1] = 4;
  bindings[8].length = 257;
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);
}

static void checks_the_entries(void) {
  EXPECT_SPOILED(tables.entries[0].name, FAKE_STRINGS_BYTES, DATA_LOSS);
  EXPECT_SPOILED(tables.entries[0].first_command, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.entries[0].command_count, UINT32_MAX, DATA_LOSS);
  EXPECT_SPOILED(tables.entries[0].input_count, 2, DATA_LOSS);
  EXPECT_SPOILED(tables.entries[0].first_output, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.entries[0].driver, 0, DATA_LOSS);
}

static void allows_writes_to_the_state_and_fast_memory(void) {
  for (uint8_t i = BM_PLAN_REGION_STATE; i <= BM_PLAN_REGION_FAST; ++i) {
    reset();
    plan.state = plan.fast = state;
    tables.header.state_bytes = tables.header.fast_bytes = sizeof(state);
    tables.bindings[0] = (bm_plan_binding_t){i, WRITE, 4, 0, sizeof(state)};
    BM_EXPECT_OK(bm_plan_verify(&plan));
    tables.bindings[0].length = sizeof(state) + 4;
    BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);
  }
}

static void checks_the_exports(void) {
  EXPECT_SPOILED(tables.exports[0].name, FAKE_STRINGS_BYTES, DATA_LOSS);
  EXPECT_SPOILED(tables.exports[3].executable, 1, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.exports[3].executable, BM_PLAN_LINKED, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.exports[3].ordinal, 2, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.exports[3].binding_count, BM_PLAN_MAX_BINDINGS + 1,
                 UNIMPLEMENTED);
  EXPECT_SPOILED(tables.exports[3].constant_count, 256, UNIMPLEMENTED);
}

static void nothing(void) {}

// An export that is a function linked into the firmware.
static void link_export(void) {
  static const void *table[FAKE_EXPORT_COUNT];
  static const bm_plan_function_t kFunctions[] = {nothing, NULL};
  reset();
  tables.header.function_count = 1;
  tables.exports[3].executable = BM_PLAN_LINKED;
  tables.exports[3].ordinal = 0;
  plan.functions = kFunctions;
  plan.table = table;
}

static void checks_linked_functions(void) {
  link_export();
  BM_EXPECT_OK(bm_plan_verify(&plan));
  tables.exports[3].ordinal = 1;
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);
  tables.header.function_count = 2;  // the second one is NULL
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  link_export();
  plan.functions = NULL;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  link_export();
  plan.table = NULL;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
}

static void checks_every_command(void) {
  EXPECT_SPOILED(tables.commands[ADD].kind, 3, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.commands[ADD].kind, 255, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.commands[ADD].flags, 2, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.commands[ADD].first_binding, 7, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.commands[ADD].first_binding, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.commands[ADD].first_constant, 4, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.commands[ADD].first_constant, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.header.bindings.count, 8, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.header.constants.count, 3, OUT_OF_RANGE);
}

static void checks_every_binding(void) {
  EXPECT_SPOILED(tables.bindings[8].region, BM_PLAN_REGION_COUNT, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.bindings[8].region, UINT8_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.bindings[8].access, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[8].access, 4, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.bindings[8].alignment, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[8].alignment, 48, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[8].alignment, 128, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[8].alignment, 32, OK);
  // Nothing may write to the weights.
  EXPECT_SPOILED(tables.bindings[4].access, WRITE, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[4].access, READ | WRITE, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[8].offset, 576, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.bindings[8].offset, UINT32_MAX - 63, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.bindings[8].length, 257, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.bindings[8].length, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.bindings[4].length, FAKE_WEIGHTS_BYTES + 1,
                 OUT_OF_RANGE);
  EXPECT_SPOILED(tables.header.arena_bytes, FAKE_ARENA_BYTES - 1, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.header.weights_bytes, FAKE_WEIGHTS_BYTES / 2,
                 OUT_OF_RANGE);
}

static void checks_dispatches(void) {
  EXPECT_SPOILED(tables.commands[ADD].export_index, FAKE_EXPORT_COUNT,
                 OUT_OF_RANGE);
  EXPECT_SPOILED(tables.commands[ADD].export_index, UINT16_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.commands[ADD].export_index, FAKE_IDS, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[ADD].binding_count, 2, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[ADD].constant_count, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.exports[FAKE_ADD].binding_count, 2, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[ADD].workgroup_count[0], 0, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[ADD].workgroup_count[1], 0, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[ADD].workgroup_count[2], 0, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[ADD].workgroup_count[2], 65536, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.commands[ADD].workgroup_count[2], 65535, OK);
  EXPECT_SPOILED(tables.bindings[8].offset, 512 - 32, DATA_LOSS);
  reset();
  tables.bindings[8].offset = 512 - 32;
  tables.bindings[8].alignment = 32;
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

static void checks_fills(void) {
  EXPECT_SPOILED(tables.commands[FILL].binding_count, 2, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[FILL].binding_count, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[FILL].constant_count, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[0].access, READ, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[0].access, READ | WRITE, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[0].offset, 258, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[0].length, 254, DATA_LOSS);
  EXPECT_SPOILED(tables.constants[1], 0, DATA_LOSS);
  EXPECT_SPOILED(tables.constants[1], 3, DATA_LOSS);
  EXPECT_SPOILED(tables.constants[1], 8, DATA_LOSS);
  EXPECT_SPOILED(tables.constants[1], UINT32_MAX, DATA_LOSS);
  // The fill writes as many bytes at a time as the binding is aligned to.
  EXPECT_SPOILED(tables.constants[1], 2, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[0].alignment, 2, DATA_LOSS);
  for (uint32_t bytes = 1; bytes <= 4; bytes *= 2) {
    reset();
    tables.constants[1] = bytes;
    tables.bindings[0].alignment = (uint16_t)bytes;
    BM_EXPECT_OK(bm_plan_verify(&plan));
  }
}

static void checks_copies(void) {
  EXPECT_SPOILED(tables.commands[COPY].binding_count, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.commands[COPY].constant_count, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[2].length, 127, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[1].access, READ | WRITE, DATA_LOSS);
  EXPECT_SPOILED(tables.bindings[2].access, READ, DATA_LOSS);
  // Weights must not be written, overlap or not.
  reset();
  tables.bindings[2].region = BM_PLAN_REGION_WEIGHTS;
  tables.bindings[2].offset = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  // In the arena, adjacent ranges are fine and one byte of overlap is not.
  reset();
  tables.bindings[1].region = BM_PLAN_REGION_ARENA;
  tables.bindings[1].offset = 128;
  BM_EXPECT_OK(bm_plan_verify(&plan));
  const uint32_t overlapping[] = {129, 256, 383};
  for (uint32_t i = 0; i < 3; ++i) {
    tables.bindings[1].offset = overlapping[i];
    BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  }
  tables.bindings[1].offset = 384;
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

static void checks_tensors(void) {
  EXPECT_SPOILED(tables.inputs[0].name, FAKE_STRINGS_BYTES, DATA_LOSS);
  EXPECT_SPOILED(tables.inputs[0].first_extent, 1, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.inputs[0].first_extent, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.inputs[0].dtype, 0, DATA_LOSS);
  EXPECT_SPOILED(tables.inputs[0].dtype, 14, DATA_LOSS);
  EXPECT_SPOILED(tables.inputs[0].dtype, BM_DTYPE_F64, DATA_LOSS);
  EXPECT_SPOILED(tables.inputs[0].rank, 1, DATA_LOSS);
  EXPECT_SPOILED(tables.inputs[0].rank, 3, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.inputs[0].rank, BM_PLAN_MAX_RANK + 1, UNIMPLEMENTED);
  EXPECT_SPOILED(tables.inputs[0].offset, 32, DATA_LOSS);
  EXPECT_SPOILED(tables.inputs[0].offset, UINT32_MAX - 63, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.inputs[0].length, 255, DATA_LOSS);
  EXPECT_SPOILED(tables.outputs[0].length, 260, OUT_OF_RANGE);
  EXPECT_SPOILED(tables.extents[0], 0, DATA_LOSS);
  EXPECT_SPOILED(tables.extents[0], 65536, DATA_LOSS);
  // A product that wraps to the claimed length.
  reset();
  tables.extents[0] = tables.extents[1] = 1u << 31;
  tables.inputs[0].length = 0;
  tables.outputs[0].length = 0;  // of the same extents
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  // No type, no bytes.
  reset();
  tables.outputs[0].dtype = 0;
  tables.outputs[0].length = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  // A scalar has no extents.
  reset();
  tables.inputs[0].rank = 0;
  tables.inputs[0].length = 4;
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

static void compares_the_cpu(void) {
  const uint32_t rvv = BM_ISA_RV64 | BM_ISA_V;
  reset();
  tables.header.isa = rvv;
  tables.header.vlen_bits = 256;
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, rvv, 256));
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, rvv, 1024));
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, rvv, 128), FAILED_PRECONDITION);
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, BM_ISA_RV64, 0), FAILED_PRECONDITION);
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, BM_ISA_X86_64, 0),
                 FAILED_PRECONDITION);
  tables.header.isa = BM_ISA_RV64;
  tables.header.vlen_bits = 0;
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, BM_ISA_X86_64, 0),
                 FAILED_PRECONDITION);
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, rvv, 128));
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, BM_ISA_RV64, 0));
}

int main(void) {
  BM_TEST(accepts_the_fake_plan);
  BM_TEST(accepts_a_plan_without_kernels);
  BM_TEST(checks_the_header);
  BM_TEST(checks_what_is_linked);
  BM_TEST(checks_the_tables);
  BM_TEST(needs_what_is_referred_to);
  BM_TEST(finds_rows_that_drivers_change_in_memory);
  BM_TEST(checks_the_entries);
  BM_TEST(allows_writes_to_the_state_and_fast_memory);
  BM_TEST(checks_the_exports);
  BM_TEST(checks_linked_functions);
  BM_TEST(checks_every_command);
  BM_TEST(checks_every_binding);
  BM_TEST(checks_dispatches);
  BM_TEST(checks_fills);
  BM_TEST(checks_copies);
  BM_TEST(checks_tensors);
  BM_TEST(compares_the_cpu);
  return bm_test_end();
}

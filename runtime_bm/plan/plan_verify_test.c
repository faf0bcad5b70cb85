// Every check of the verifier, one corrupted field at a time.
#include "runtime_bm/plan/plan_verify.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

// A copy of the fake plan with tables that a test may corrupt.
static bm_plan_t plan;
static bm_plan_export_t exports[FAKE_EXPORT_COUNT];
static bm_plan_command_t commands[FAKE_COMMAND_COUNT];
static bm_plan_binding_t bindings[FAKE_BINDING_COUNT];
static uint32_t constants[FAKE_CONSTANT_COUNT];
static bm_plan_tensor_t inputs[1];
static bm_plan_tensor_t outputs[1];
static bm_plan_entry_t entries[FAKE_ENTRY_COUNT];
static _Alignas(BM_PLAN_ALIGNMENT) uint8_t state[256];

// Commands of the fake plan.
enum { FILL = 0, COPY = 1, MULTIPLY = 2, ADD = 3 };

static void reset(void) {
  plan = fake_plan;
  memcpy(exports, fake_exports, sizeof(exports));
  memcpy(commands, fake_commands, sizeof(commands));
  memcpy(bindings, fake_bindings, sizeof(bindings));
  memcpy(constants, fake_constants, sizeof(constants));
  memcpy(inputs, fake_inputs, sizeof(inputs));
  memcpy(outputs, fake_outputs, sizeof(outputs));
  memcpy(entries, fake_entries, sizeof(entries));
  plan.exports = exports;
  plan.commands = commands;
  plan.bindings = bindings;
  plan.constants = constants;
  plan.inputs = inputs;
  plan.outputs = outputs;
  plan.entries = entries;
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
  reset();
  plan.library_query = NULL;
  plan.export_count = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);  // it has dispatches
  commands[MULTIPLY] = commands[COPY];
  commands[ADD] = commands[COPY];
  BM_EXPECT_OK(bm_plan_verify(&plan));
  plan.kernels_elf = (const uint8_t *)fake_weights;
  plan.kernels_elf_bytes = 1;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
}

static void checks_the_header(void) {
  EXPECT_SPOILED(plan.abi_version, 0, UNIMPLEMENTED);
  EXPECT_SPOILED(plan.abi_version, BM_PLAN_ABI_VERSION + 1, UNIMPLEMENTED);
  EXPECT_SPOILED(plan.isa, 0, DATA_LOSS);
  EXPECT_SPOILED(plan.isa, BM_ISA_RV64 | BM_ISA_X86_64, DATA_LOSS);
  EXPECT_SPOILED(plan.isa, FAKE_ISA | 1 << 10, UNIMPLEMENTED);
  EXPECT_SPOILED(plan.isa, BM_ISA_RV32 | BM_ISA_RV64, DATA_LOSS);
  EXPECT_SPOILED(plan.isa, FAKE_ISA | BM_ISA_V, DATA_LOSS);
  EXPECT_SPOILED(plan.isa, FAKE_ISA | BM_ISA_ZVE32F, DATA_LOSS);
  EXPECT_SPOILED(plan.vlen_bits, 128, DATA_LOSS);
  EXPECT_SPOILED(plan.name, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.weights, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.weights, (const uint8_t *)fake_weights + 32, DATA_LOSS);
  EXPECT_SPOILED(plan.library_query, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.kernels_elf, (const uint8_t *)fake_weights, DATA_LOSS);
  EXPECT_SPOILED(plan.kernels_elf_bytes, 1, DATA_LOSS);
  EXPECT_SPOILED(plan.exports, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.commands, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.bindings, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.constants, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.inputs, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.outputs, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.entries, NULL, DATA_LOSS);
  EXPECT_SPOILED(plan.entry_count, 0, DATA_LOSS);
  EXPECT_SPOILED(plan.state_bytes, 1, DATA_LOSS);
  EXPECT_SPOILED(plan.state, state + 1, DATA_LOSS);
  EXPECT_SPOILED(plan.reset_count, FAKE_COMMAND_COUNT + 1, DATA_LOSS);
}

static void checks_the_entries(void) {
  EXPECT_SPOILED(entries[0].name, NULL, DATA_LOSS);
  EXPECT_SPOILED(entries[0].first_command, 1, DATA_LOSS);
  EXPECT_SPOILED(entries[0].command_count, UINT32_MAX, DATA_LOSS);
  EXPECT_SPOILED(entries[0].input_count, 2, DATA_LOSS);
  EXPECT_SPOILED(entries[0].first_output, 1, DATA_LOSS);
}

static void allows_writes_to_the_state(void) {
  reset();
  plan.state = state;
  plan.state_bytes = sizeof(state);
  bindings[0].region = BM_PLAN_REGION_STATE;
  bindings[0].offset = 0;
  BM_EXPECT_OK(bm_plan_verify(&plan));
  bindings[0].length = sizeof(state) + 4;
  BM_EXPECT_CODE(bm_plan_verify(&plan), OUT_OF_RANGE);
}

static void checks_the_exports(void) {
  EXPECT_SPOILED(exports[0].name, NULL, DATA_LOSS);
  EXPECT_SPOILED(exports[3].binding_count, BM_PLAN_MAX_BINDINGS + 1,
                 UNIMPLEMENTED);
  EXPECT_SPOILED(exports[3].constant_count, 256, UNIMPLEMENTED);
}

static void checks_every_command(void) {
  EXPECT_SPOILED(commands[ADD].kind, 3, UNIMPLEMENTED);
  EXPECT_SPOILED(commands[ADD].kind, 255, UNIMPLEMENTED);
  EXPECT_SPOILED(commands[ADD].flags, 2, UNIMPLEMENTED);
  EXPECT_SPOILED(commands[ADD].first_binding, 7, OUT_OF_RANGE);
  EXPECT_SPOILED(commands[ADD].first_binding, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(commands[ADD].first_constant, 4, OUT_OF_RANGE);
  EXPECT_SPOILED(commands[ADD].first_constant, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(plan.binding_count, 8, OUT_OF_RANGE);
  EXPECT_SPOILED(plan.constant_count, 3, OUT_OF_RANGE);
}

static void checks_every_binding(void) {
  EXPECT_SPOILED(bindings[8].region, 3, OUT_OF_RANGE);
  EXPECT_SPOILED(bindings[8].region, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(bindings[8].offset, 576, OUT_OF_RANGE);
  EXPECT_SPOILED(bindings[8].offset, UINT32_MAX - 63, OUT_OF_RANGE);
  EXPECT_SPOILED(bindings[8].length, 257, OUT_OF_RANGE);
  EXPECT_SPOILED(bindings[8].length, UINT32_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(bindings[4].length, FAKE_WEIGHTS_BYTES + 1, OUT_OF_RANGE);
  EXPECT_SPOILED(plan.arena_bytes, FAKE_ARENA_BYTES - 1, OUT_OF_RANGE);
  EXPECT_SPOILED(plan.weights_bytes, FAKE_WEIGHTS_BYTES / 2, OUT_OF_RANGE);
}

static void checks_dispatches(void) {
  EXPECT_SPOILED(commands[ADD].ordinal, FAKE_EXPORT_COUNT, OUT_OF_RANGE);
  EXPECT_SPOILED(commands[ADD].ordinal, UINT16_MAX, OUT_OF_RANGE);
  EXPECT_SPOILED(commands[ADD].ordinal, FAKE_IDS, DATA_LOSS);
  EXPECT_SPOILED(commands[ADD].binding_count, 2, DATA_LOSS);
  EXPECT_SPOILED(commands[ADD].constant_count, 0, DATA_LOSS);
  EXPECT_SPOILED(commands[ADD].workgroup_count[0], 0, DATA_LOSS);
  EXPECT_SPOILED(commands[ADD].workgroup_count[1], 0, DATA_LOSS);
  EXPECT_SPOILED(commands[ADD].workgroup_count[2], 0, DATA_LOSS);
  EXPECT_SPOILED(commands[ADD].workgroup_count[2], 65536, UNIMPLEMENTED);
  EXPECT_SPOILED(commands[ADD].workgroup_count[2], 65535, OK);
  EXPECT_SPOILED(bindings[8].offset, 512 - 32, DATA_LOSS);
}

static void checks_fills(void) {
  EXPECT_SPOILED(commands[FILL].binding_count, 2, DATA_LOSS);
  EXPECT_SPOILED(commands[FILL].binding_count, 0, DATA_LOSS);
  EXPECT_SPOILED(commands[FILL].constant_count, 1, DATA_LOSS);
  EXPECT_SPOILED(bindings[0].region, BM_PLAN_REGION_WEIGHTS, DATA_LOSS);
  EXPECT_SPOILED(bindings[0].offset, 258, DATA_LOSS);
  EXPECT_SPOILED(bindings[0].length, 254, DATA_LOSS);
  EXPECT_SPOILED(constants[1], 0, DATA_LOSS);
  EXPECT_SPOILED(constants[1], 3, DATA_LOSS);
  EXPECT_SPOILED(constants[1], 8, DATA_LOSS);
  EXPECT_SPOILED(constants[1], UINT32_MAX, DATA_LOSS);
  EXPECT_SPOILED(constants[1], 1, OK);
  EXPECT_SPOILED(constants[1], 2, OK);
}

static void checks_copies(void) {
  EXPECT_SPOILED(commands[COPY].binding_count, 1, DATA_LOSS);
  EXPECT_SPOILED(commands[COPY].constant_count, 1, DATA_LOSS);
  EXPECT_SPOILED(bindings[2].length, 127, DATA_LOSS);
  // Weights must not be written, overlap or not.
  reset();
  bindings[2].region = BM_PLAN_REGION_WEIGHTS;
  bindings[2].offset = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  // In the arena, adjacent ranges are fine and one byte of overlap is not.
  reset();
  bindings[1].region = BM_PLAN_REGION_ARENA;
  bindings[1].offset = 128;
  BM_EXPECT_OK(bm_plan_verify(&plan));
  bindings[1].offset = 129;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  bindings[1].offset = 256;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  bindings[1].offset = 383;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  bindings[1].offset = 384;
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

static void checks_tensors(void) {
  static const uint32_t kHuge[] = {65536, 65536};
  static const uint32_t kEmpty[] = {0, 32};
  EXPECT_SPOILED(inputs[0].name, NULL, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].shape, NULL, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].dtype, 0, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].dtype, 14, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].dtype, BM_DTYPE_F64, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].rank, 1, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].rank, BM_PLAN_MAX_RANK + 1, UNIMPLEMENTED);
  EXPECT_SPOILED(inputs[0].offset, 32, DATA_LOSS);
  EXPECT_SPOILED(inputs[0].offset, UINT32_MAX - 63, OUT_OF_RANGE);
  EXPECT_SPOILED(inputs[0].length, 255, DATA_LOSS);
  EXPECT_SPOILED(outputs[0].length, 260, OUT_OF_RANGE);
  EXPECT_SPOILED(outputs[0].shape, kHuge, DATA_LOSS);
  EXPECT_SPOILED(outputs[0].shape, kEmpty, DATA_LOSS);
  // Products that wrap to the claimed length.
  static const uint32_t kWrapping[] = {1u << 31, 1u << 31};
  reset();
  outputs[0].shape = kWrapping;
  outputs[0].length = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  // No type, no bytes.
  reset();
  outputs[0].dtype = 0;
  outputs[0].length = 0;
  BM_EXPECT_CODE(bm_plan_verify(&plan), DATA_LOSS);
  // A scalar needs no shape.
  reset();
  inputs[0].rank = 0;
  inputs[0].shape = NULL;
  inputs[0].length = 4;
  BM_EXPECT_OK(bm_plan_verify(&plan));
}

static void compares_the_cpu(void) {
  const uint32_t rvv = BM_ISA_RV64 | BM_ISA_V;
  reset();
  plan.isa = rvv;
  plan.vlen_bits = 256;
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, rvv, 256));
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, rvv, 1024));
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, rvv, 128), FAILED_PRECONDITION);
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, BM_ISA_RV64, 0), FAILED_PRECONDITION);
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, BM_ISA_X86_64, 0),
                 FAILED_PRECONDITION);
  plan.isa = BM_ISA_RV64;
  plan.vlen_bits = 0;
  BM_EXPECT_CODE(bm_plan_check_cpu(&plan, BM_ISA_X86_64, 0),
                 FAILED_PRECONDITION);
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, rvv, 128));
  BM_EXPECT_OK(bm_plan_check_cpu(&plan, BM_ISA_RV64, 0));
}

int main(void) {
  BM_TEST(accepts_the_fake_plan);
  BM_TEST(accepts_a_plan_without_kernels);
  BM_TEST(checks_the_header);
  BM_TEST(checks_the_entries);
  BM_TEST(allows_writes_to_the_state);
  BM_TEST(checks_the_exports);
  BM_TEST(checks_every_command);
  BM_TEST(checks_every_binding);
  BM_TEST(checks_dispatches);
  BM_TEST(checks_fills);
  BM_TEST(checks_copies);
  BM_TEST(checks_tensors);
  BM_TEST(compares_the_cpu);
  return bm_test_end();
}

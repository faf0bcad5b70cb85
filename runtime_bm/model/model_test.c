// The public interface, as an application sees it.
#include "runtime_bm/base/memory.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/elf/elf_machine.h"
#include "runtime_bm/plan/plan_driver.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_elf.h"
#include "runtime_bm/testing/fake_model.h"

static BM_ALIGNED uint8_t arena_bytes[FAKE_ARENA_BYTES];
static const bm_span_t kArena = {arena_bytes, sizeof(arena_bytes)};
static const bm_span_t kNoCode = {NULL, 0};
static const uint32_t kShape[] = {2, 32};

static bm_status_t set_x(bm_model_t *model, const void *data) {
  return bm_model_set_input(model, 0, BM_DTYPE_F32, kShape, 2, data, 256);
}

static void runs_the_fake_model(void) {
  bm_model_t model;
  bm_tensor_t y;
  bm_model_info_t info;
  BM_EXPECT_OK(bm_model_info(&fake_plan, &info));
  BM_EXPECT_EQ(info.arena_bytes, FAKE_ARENA_BYTES);
  BM_EXPECT_EQ(info.code_bytes, 0);
  BM_EXPECT_OK(bm_model_init(&model, &fake_plan, kArena, kNoCode));
  BM_EXPECT_OK(bm_model_output(&model, 0, &y));
  BM_EXPECT(y.data == arena_bytes + 512);
  BM_EXPECT_EQ(y.bytes, 256);
  BM_EXPECT_EQ(y.dtype, BM_DTYPE_F32);
  BM_EXPECT_EQ(y.rank, 2);
  BM_EXPECT_EQ(y.shape[1], 32);
  // Twice, with different inputs: a run leaves nothing behind.
  for (uint32_t i = 0; i < FAKE_CASE_COUNT; ++i) {
    const float *golden = fake_golden_data + i * 128;
    BM_EXPECT_OK(set_x(&model, golden));
    BM_EXPECT_OK(bm_model_run(&model));
    BM_EXPECT(memcmp(y.data, golden + 64, 256) == 0);
  }
}

static void runs_a_model_without_commands(void) {
  const bm_plan_table_t no_rows = {0, 0};
  fake_tables_t tables = fake_tables;
  bm_plan_t plan = fake_plan;
  bm_model_t model;
  plan.header = &tables.header;
  plan.executables = NULL;
  tables.header.executable_count = 0;
  tables.header.exports = no_rows;
  tables.header.commands = no_rows;
  tables.header.bindings = no_rows;
  tables.entries[0].command_count = 0;
  BM_EXPECT_OK(bm_model_init(&model, &plan, kArena, kNoCode));
  BM_EXPECT_OK(bm_model_run(&model));
}

static void add(void *sum, uint32_t index) { *(uint32_t *)sum += index + 1; }

static void an_observer_sees_every_command(void) {
  bm_model_t model;
  uint32_t sum = 0;
  BM_EXPECT_OK(bm_model_init(&model, &fake_plan, kArena, kNoCode));
  bm_model_observe(&model, add, &sum);
  BM_EXPECT_OK(set_x(&model, fake_golden_data));
  BM_EXPECT_OK(bm_model_run(&model));
  BM_EXPECT_EQ(sum, 1 + 2 + 3 + FAKE_COMMAND_COUNT);
}

static void refuses_wrong_inputs(void) {
  static const uint32_t kOtherShape[] = {32, 2};
  bm_model_t model;
  BM_EXPECT_OK(bm_model_init(&model, &fake_plan, kArena, kNoCode));
  memset(arena_bytes, 0x77, sizeof(arena_bytes));
  const float *x = fake_golden_data;
  BM_EXPECT_CODE(bm_model_set_input(&model, 1, BM_DTYPE_F32, kShape, 2, x, 256),
                 INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_set_input(&model, 0, BM_DTYPE_I32, kShape, 2, x, 256),
                 INVALID_ARGUMENT);
  BM_EXPECT_CODE(
      bm_model_set_input(&model, 0, BM_DTYPE_F32, kOtherShape, 2, x, 256),
      INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 1, x, 256),
                 INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, x, 255),
                 INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, x, 257),
                 INVALID_ARGUMENT);
  for (uint32_t i = 0; i < sizeof(arena_bytes); ++i) {
    if (!BM_EXPECT_EQ(arena_bytes[i], 0x77)) break;
  }
  bm_tensor_t tensor;
  BM_EXPECT_CODE(bm_model_input(&model, 1, &tensor), INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_output(&model, 1, &tensor), INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_output(&model, UINT32_MAX, &tensor),
                 INVALID_ARGUMENT);
}

static void refuses_memory_that_does_not_do(void) {
  bm_model_t model;
  const bm_span_t small = {arena_bytes, sizeof(arena_bytes) - 1};
  const bm_span_t misaligned = {arena_bytes + 32, sizeof(arena_bytes)};
  BM_EXPECT_CODE(bm_model_init(&model, &fake_plan, small, kNoCode),
                 RESOURCE_EXHAUSTED);
  BM_EXPECT_CODE(bm_model_init(&model, &fake_plan, misaligned, kNoCode),
                 INVALID_ARGUMENT);
}

// A copy of the fake plan that a test may change.
static fake_tables_t tables;

static bm_plan_t plan_to_change(void) {
  bm_plan_t plan = fake_plan;
  tables = fake_tables;
  plan.header = &tables.header;
  return plan;
}

// The rows of inputs and outputs lie beside each other: both tables have two.
static void finds_each_of_several_tensors(void) {
  const bm_plan_t plan = plan_to_change();
  bm_model_t model;
  bm_tensor_t tensor;
  tables.header.inputs.count = 2;
  tables.header.outputs = tables.header.inputs;
  tables.entries[0].input_count = 2;
  tables.entries[0].output_count = 2;
  BM_EXPECT_OK(bm_model_init(&model, &plan, kArena, kNoCode));
  for (uint32_t i = 0; i < 2; ++i) {
    BM_EXPECT_OK(bm_model_input(&model, i, &tensor));
    BM_EXPECT(tensor.data == arena_bytes + i * 512 && *tensor.name == "xy"[i]);
    BM_EXPECT_OK(bm_model_output(&model, i, &tensor));
    BM_EXPECT(tensor.data == arena_bytes + i * 512 && *tensor.name == "xy"[i]);
  }
  BM_EXPECT_CODE(bm_model_input(&model, 2, &tensor), INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_model_output(&model, 2, &tensor), INVALID_ARGUMENT);
  // An entry point whose tensors are the last ones.
  tables.entries[0].first_input = 1;
  tables.entries[0].input_count = 1;
  tables.entries[0].first_output = 1;
  tables.entries[0].output_count = 1;
  BM_EXPECT_OK(bm_model_init(&model, &plan, kArena, kNoCode));
  BM_EXPECT_OK(bm_model_input(&model, 0, &tensor));
  BM_EXPECT(tensor.data == arena_bytes + 512);
  BM_EXPECT_OK(bm_model_output(&model, 0, &tensor));
  BM_EXPECT(tensor.data == arena_bytes + 512);
}

static void refuses_plans_for_other_harts(void) {
  const bm_plan_t plan = plan_to_change();
  bm_model_t model;
  tables.header.isa = FAKE_ISA == BM_ISA_X86_64 ? BM_ISA_RV64 : BM_ISA_X86_64;
  BM_EXPECT_CODE(bm_model_init(&model, &plan, kArena, kNoCode),
                 FAILED_PRECONDITION);
  // Vectors longer than any hart's.
  tables.header.isa = FAKE_ISA | BM_ISA_V;
  tables.header.vlen_bits = 1 << 20;
  BM_EXPECT_CODE(bm_model_init(&model, &plan, kArena, kNoCode),
                 FAILED_PRECONDITION);
}

static void refuses_malformed_plans(void) {
  const bm_plan_t plan = plan_to_change();
  bm_model_t model;
  tables.header.arena_bytes = FAKE_ARENA_BYTES - 64;
  BM_EXPECT_CODE(bm_model_init(&model, &plan, kArena, kNoCode), OUT_OF_RANGE);
}

static void refuses_kernels_of_another_plan(void) {
  bm_plan_t plan = plan_to_change();
  bm_model_t model;
  tables.exports[FAKE_IDS].name = tables.exports[FAKE_ADD].name;
  BM_EXPECT_CODE(bm_model_init(&model, &plan, kArena, kNoCode), NOT_FOUND);
  plan = plan_to_change();
  tables.exports[FAKE_IDS].constant_count = 1;
  BM_EXPECT_CODE(bm_model_init(&model, &plan, kArena, kNoCode),
                 INVALID_ARGUMENT);
}

// Where a plan lies makes no difference.
static void runs_a_plan_at_another_address(void) {
  static _Alignas(4) uint8_t moved[sizeof(fake_tables_t) + 4];
  bm_plan_t plan = fake_plan;
  bm_model_t model;
  bm_tensor_t y;
  memcpy(moved + 4, &fake_tables, sizeof(fake_tables));
  plan.header = (const bm_plan_header_t *)(const void *)(moved + 4);
  BM_EXPECT_OK(bm_model_init(&model, &plan, kArena, kNoCode));
  BM_EXPECT_OK(set_x(&model, fake_golden_data));
  BM_EXPECT_OK(bm_model_run(&model));
  BM_EXPECT_OK(bm_model_output(&model, 0, &y));
  BM_EXPECT(memcmp(y.data, fake_golden_data + 64, 256) == 0);
}

#ifdef __riscv
static const bm_elf_machine_t *const kForeignMachine = &bm_elf_machine_x86_64;
#else
static const bm_elf_machine_t *const kForeignMachine = &bm_elf_machine_riscv64;
#endif

// A plan whose kernels are an ELF that is loaded at run time.
static uint8_t elf[FAKE_ELF_BYTES];

typedef struct elf_tables_t {
  bm_plan_header_t header;
  bm_plan_export_t exports[1];
  bm_plan_command_t commands[1];
  bm_plan_binding_t bindings[1];
  bm_plan_tensor_t outputs[1];
  bm_plan_entry_t entries[1];
  char strings[12];
} elf_tables_t;

static const elf_tables_t kElfTables = {
    .header = {.abi_version = BM_PLAN_ABI_VERSION,
               .bytes = sizeof(elf_tables_t),
               .isa = FAKE_ISA,
               .arena_bytes = 128,
               .executable_count = 1,
               .exports = FAKE_TABLE(elf_tables_t, exports),
               .commands = FAKE_TABLE(elf_tables_t, commands),
               .bindings = FAKE_TABLE(elf_tables_t, bindings),
               .outputs = FAKE_TABLE(elf_tables_t, outputs),
               .entries = FAKE_TABLE(elf_tables_t, entries),
               .strings = FAKE_TABLE(elf_tables_t, strings)},
    .exports = {{.binding_count = 1}},
    .commands = {{.kind = BM_COMMAND_DISPATCH,
                  .binding_count = 1,
                  .workgroup_count = {1, 1, 1}}},
    .bindings = {{BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 64, 64, 4}},
    .outputs = {{.dtype = BM_DTYPE_U32, .offset = 64, .length = 4}},
    .entries = {{.driver = BM_PLAN_NO_DRIVER,
                 .command_count = 1,
                 .output_count = 1}},
    .strings = "fake_answer",
};
static const bm_plan_executable_t kElfExecutable = {
    .elf = elf, .elf_bytes = FAKE_ELF_BYTES};
static const bm_plan_t kElfPlan = {.header = &kElfTables.header,
                                   .executables = &kElfExecutable};

// A model whose state is one word: "bump" doubles its low byte through a
// driver, "peek" copies the state out, and a reset sets it to 3.
static _Alignas(BM_PLAN_ALIGNMENT) uint8_t state_bytes[64];

static bm_status_t bump(const bm_plan_runner_t *runner) {
  uint64_t value;
  BM_TRY(bm_driver_load(runner, BM_PLAN_REGION_STATE, 0, 64, 0, 4, &value));
  runner->plan->state[0] = (uint8_t)(2 * value);
  return bm_ok();
}

typedef struct state_tables_t {
  bm_plan_header_t header;
  bm_plan_command_t commands[2];
  bm_plan_binding_t bindings[3];
  uint32_t constants[2];
  bm_plan_tensor_t outputs[1];
  uint32_t extents[1];
  bm_plan_entry_t entries[2];
  char strings[10];
} state_tables_t;

enum { PEEK = 0, BUMP = 5 };

static const state_tables_t kStateTables = {
    .header = {.abi_version = BM_PLAN_ABI_VERSION,
               .bytes = sizeof(state_tables_t),
               .isa = FAKE_ISA,
               .arena_bytes = 128,
               .state_bytes = sizeof(state_bytes),
               .driver_count = 1,
               .reset_count = 1,
               .commands = FAKE_TABLE(state_tables_t, commands),
               .bindings = FAKE_TABLE(state_tables_t, bindings),
               .constants = FAKE_TABLE(state_tables_t, constants),
               .outputs = FAKE_TABLE(state_tables_t, outputs),
               .extents = FAKE_TABLE(state_tables_t, extents),
               .entries = FAKE_TABLE(state_tables_t, entries),
               .strings = FAKE_TABLE(state_tables_t, strings)},
    .commands =
        {
            {.kind = BM_COMMAND_FILL, .binding_count = 1, .constant_count = 2},
            {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 1},
        },
    .bindings =
        {
            {BM_PLAN_REGION_STATE, BM_PLAN_ACCESS_WRITE, 4, 0, 4},  // reset
            {BM_PLAN_REGION_STATE, BM_PLAN_ACCESS_READ, 1, 0, 4},   // peek
            {BM_PLAN_REGION_ARENA, BM_PLAN_ACCESS_WRITE, 1, 64, 4},
        },
    .constants = {3, 4},
    .outputs = {{.dtype = BM_DTYPE_U32, .rank = 1, .offset = 64, .length = 4}},
    .extents = {1},
    .entries = {{.name = PEEK,
                 .driver = BM_PLAN_NO_DRIVER,
                 .first_command = 1,
                 .command_count = 1,
                 .output_count = 1},
                {.name = BUMP, .driver = 0}},
    .strings = "peek\0bump",
};
static const bm_plan_driver_t kStateDrivers[] = {bump};
static const bm_plan_t kStatePlan = {.header = &kStateTables.header,
                                     .state = state_bytes,
                                     .drivers = kStateDrivers};

static void expect_word(bm_model_t *peek, uint32_t want) {
  bm_tensor_t word;
  uint32_t value = 0;
  BM_EXPECT_OK(bm_model_run(peek));
  if (!BM_EXPECT_OK(bm_model_output(peek, 0, &word))) return;
  memcpy(&value, word.data, sizeof(value));
  BM_EXPECT_EQ(value, want);
}

static void remembers_until_reset(void) {
  bm_model_t peek;
  bm_model_t entry;
  memset(state_bytes, 0x55, sizeof(state_bytes));
  if (!BM_EXPECT_OK(bm_model_init(&peek, &kStatePlan, kArena, kNoCode))) return;
  expect_word(&peek, 3);
  expect_word(&peek, 3);
  if (!BM_EXPECT_OK(bm_model_entry(&peek, "bump", &entry))) return;
  BM_EXPECT_OK(bm_model_run(&entry));
  BM_EXPECT_OK(bm_model_run(&entry));
  expect_word(&peek, 12);
  BM_EXPECT_OK(bm_model_reset(&entry));
  expect_word(&peek, 3);
}

static void finds_entries_by_their_whole_name(void) {
  bm_model_t peek;
  bm_model_t entry;
  bm_tensor_t word;
  if (!BM_EXPECT_OK(bm_model_init(&peek, &kStatePlan, kArena, kNoCode))) return;
  BM_EXPECT_CODE(bm_model_entry(&peek, "bum", &entry), NOT_FOUND);
  BM_EXPECT_CODE(bm_model_entry(&peek, "bumps", &entry), NOT_FOUND);
  BM_EXPECT_CODE(bm_model_entry(&peek, "", &entry), NOT_FOUND);
  if (!BM_EXPECT_OK(bm_model_entry(&peek, "bump", &entry))) return;
  BM_EXPECT_CODE(bm_model_output(&entry, 0, &word), INVALID_ARGUMENT);
}

// Whole pages, since a host makes whole pages executable.
static _Alignas(4096) uint8_t code_bytes[4 * 4096];
static const bm_span_t kCode = {code_bytes, sizeof(code_bytes)};

static void loads_and_runs_kernels(void) {
  bm_model_t model;
  bm_model_info_t info;
  bm_tensor_t answer;
  uint32_t value;
  fake_elf_build(elf, BM_ELF_MACHINE_NATIVE);
  BM_EXPECT_OK(bm_model_info(&kElfPlan, &info));
  BM_EXPECT_EQ(info.code_bytes, FAKE_ELF_IMAGE_BYTES);
  if (!BM_EXPECT_OK(bm_model_init(&model, &kElfPlan, kArena, kCode))) return;
  BM_EXPECT_OK(bm_model_run(&model));
  BM_EXPECT_OK(bm_model_output(&model, 0, &answer));
  memcpy(&value, answer.data, sizeof(value));
  BM_EXPECT_EQ(value, FAKE_ELF_ANSWER);
}

static void refuses_bad_kernels(void) {
  bm_model_t model;
  bm_model_info_t info;
  fake_elf_build(elf, BM_ELF_MACHINE_NATIVE);
  BM_EXPECT_CODE(bm_model_init(&model, &kElfPlan, kArena, kNoCode),
                 RESOURCE_EXHAUSTED);
  const bm_span_t small = {code_bytes, FAKE_ELF_IMAGE_BYTES - 1};
  BM_EXPECT_CODE(bm_model_init(&model, &kElfPlan, kArena, small),
                 RESOURCE_EXHAUSTED);
  elf[0] = 0;
  BM_EXPECT_CODE(bm_model_info(&kElfPlan, &info), DATA_LOSS);
  BM_EXPECT_CODE(bm_model_init(&model, &kElfPlan, kArena, kCode), DATA_LOSS);
  fake_elf_build(elf, kForeignMachine);
  BM_EXPECT_CODE(bm_model_init(&model, &kElfPlan, kArena, kCode),
                 UNIMPLEMENTED);
}

int main(void) {
  BM_TEST(runs_the_fake_model);
  BM_TEST(runs_a_model_without_commands);
  BM_TEST(an_observer_sees_every_command);
  BM_TEST(refuses_wrong_inputs);
  BM_TEST(refuses_memory_that_does_not_do);
  BM_TEST(finds_each_of_several_tensors);
  BM_TEST(refuses_plans_for_other_harts);
  BM_TEST(refuses_malformed_plans);
  BM_TEST(refuses_kernels_of_another_plan);
  BM_TEST(runs_a_plan_at_another_address);
  BM_TEST(remembers_until_reset);
  BM_TEST(finds_entries_by_their_whole_name);
  BM_TEST(loads_and_runs_kernels);
  BM_TEST(refuses_bad_kernels);
  return bm_test_end();
}

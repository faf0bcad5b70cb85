#include "runtime_bm/plan/plan_run.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/exec/executable.h"
#include "runtime_bm/plan/plan_verify.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

enum { ARENA_BYTES = 1024 };

#define READ BM_PLAN_ACCESS_READ
#define WRITE BM_PLAN_ACCESS_WRITE

static const bm_plan_table_t kNoRows = {0, 0};
static const uint32_t kUnused[] = {0};

static _Alignas(BM_PLAN_ALIGNMENT) uint8_t arena[ARENA_BYTES];
static uint32_t observed[8];
static uint32_t observed_count;

static void observe(void *context, uint32_t index) {
  BM_EXPECT(context == observed);
  if (observed_count < 8) observed[observed_count++] = index;
}

static const void *const *fake_functions(void) {
  bm_executable_t executable;
  BM_EXPECT_OK(bm_executable_open(fake_library_query,
                                  bm_executable_linked_image(),
                                  FAKE_EXPORT_COUNT, &executable));
  return bm_executable_functions(&executable);
}

static bm_plan_runner_t runner_of(const bm_plan_t *plan) {
  return bm_plan_runner_of(plan, arena, fake_functions());
}

// A plan of a few commands over the fake library.
static bm_plan_t plan_of(const bm_plan_command_t *commands,
                         uint32_t command_count,
                         const bm_plan_binding_t *bindings,
                         uint32_t binding_count, const uint32_t *constants,
                         uint32_t constant_count) {
  static fake_tables_t tables;
  bm_plan_t plan = fake_plan;
  tables = fake_tables;
  plan.header = &tables.header;
  tables.header.arena_bytes = ARENA_BYTES;
  tables.header.inputs = kNoRows;
  tables.header.outputs = kNoRows;
  tables.header.commands.count = command_count;
  tables.header.bindings.count = binding_count;
  tables.header.constants.count = constant_count;
  if (constant_count == 0) tables.header.constants = kNoRows;
  memcpy(tables.commands, commands, command_count * sizeof(*commands));
  memcpy(tables.bindings, bindings, binding_count * sizeof(*bindings));
  memcpy(tables.constants, constants, constant_count * sizeof(*constants));
  const bm_plan_entry_t entry = {.driver = BM_PLAN_NO_DRIVER,
                                 .command_count = command_count};
  tables.entries[0] = entry;
  BM_EXPECT_OK(bm_plan_verify(&plan));
  return plan;
}

static void runs_the_fake_plan(void) {
  const bm_plan_runner_t runner = runner_of(&fake_plan);
  memset(arena, 0xFF, sizeof(arena));
  memcpy(arena, fake_golden_data, 256);
  BM_EXPECT_OK(bm_plan_run(&runner, 0, FAKE_COMMAND_COUNT));
  BM_EXPECT(memcmp(arena + 512, fake_golden_data + 64, 256) == 0);
  // Nothing beyond the plan's arena is touched.
  for (uint32_t i = FAKE_ARENA_BYTES; i < ARENA_BYTES; ++i) {
    BM_EXPECT_EQ(arena[i], 0xFF);
  }
}

static void runs_ranges_and_observes(void) {
  bm_plan_runner_t runner = runner_of(&fake_plan);
  runner.observer = observe;
  runner.observer_context = observed;
  memcpy(arena, fake_golden_data, 256);
  observed_count = 0;
  BM_EXPECT_OK(bm_plan_run(&runner, 0, 0));
  BM_EXPECT_EQ(observed_count, 0);
  BM_EXPECT_OK(bm_plan_run(&runner, 0, 1));
  BM_EXPECT_OK(bm_plan_run(&runner, 1, 3));
  BM_EXPECT_EQ(observed_count, 4);
  for (uint32_t i = 0; i < 4; ++i) BM_EXPECT_EQ(observed[i], i);
  BM_EXPECT(memcmp(arena + 512, fake_golden_data + 64, 256) == 0);
}

// Fills [8, 8 + length) of a cleared arena.
static void fill(uint32_t length, uint32_t pattern, uint32_t pattern_bytes) {
  const bm_plan_command_t command = {
      .kind = BM_COMMAND_FILL, .binding_count = 1, .constant_count = 2};
  const bm_plan_binding_t binding = {.region = BM_PLAN_REGION_ARENA,
                                     .access = WRITE,
                                     .alignment = (uint16_t)pattern_bytes,
                                     .offset = 8,
                                     .length = length};
  const uint32_t constants[] = {pattern, pattern_bytes};
  const bm_plan_t plan = plan_of(&command, 1, &binding, 1, constants, 2);
  const bm_plan_runner_t runner = runner_of(&plan);
  memset(arena, 0, sizeof(arena));
  BM_EXPECT_OK(bm_plan_run(&runner, 0, 1));
}

static void fills_patterns(void) {
  static const uint8_t kBytes[] = {0, 0x12, 0x12, 0x12, 0};
  static const uint8_t kHalves[] = {0, 0x34, 0x12, 0x34, 0x12, 0};
  static const uint8_t kWords[] = {0,    0x78, 0x56, 0x34, 0x12,
                                   0x78, 0x56, 0x34, 0x12, 0};
  fill(3, 0xFFFFFF12, 1);
  BM_EXPECT(memcmp(arena + 7, kBytes, sizeof(kBytes)) == 0);
  fill(4, 0xFFFF1234, 2);
  BM_EXPECT(memcmp(arena + 7, kHalves, sizeof(kHalves)) == 0);
  fill(8, 0x12345678, 4);
  BM_EXPECT(memcmp(arena + 7, kWords, sizeof(kWords)) == 0);
  fill(0, 0x12345678, 4);
  BM_EXPECT_EQ(arena[8], 0);
}

static void copies_from_weights_and_within_the_arena(void) {
  const bm_plan_command_t command = {.kind = BM_COMMAND_COPY,
                                     .binding_count = 2};
  const bm_plan_binding_t from_weights[] = {
      {BM_PLAN_REGION_WEIGHTS, READ, 1, 3, 5},
      {BM_PLAN_REGION_ARENA, WRITE, 1, 9, 5}};
  const bm_plan_binding_t within[] = {{BM_PLAN_REGION_ARENA, READ, 1, 9, 5},
                                      {BM_PLAN_REGION_ARENA, WRITE, 1, 14, 5}};
  bm_plan_t plan = plan_of(&command, 1, from_weights, 2, kUnused, 0);
  bm_plan_runner_t runner = runner_of(&plan);
  memset(arena, 0xEE, sizeof(arena));
  BM_EXPECT_OK(bm_plan_run(&runner, 0, 1));
  BM_EXPECT(memcmp(arena + 9, (const uint8_t *)fake_weights + 3, 5) == 0);
  BM_EXPECT_EQ(arena[8], 0xEE);
  BM_EXPECT_EQ(arena[14], 0xEE);
  plan = plan_of(&command, 1, within, 2, kUnused, 0);
  runner = runner_of(&plan);
  BM_EXPECT_OK(bm_plan_run(&runner, 0, 1));
  BM_EXPECT(memcmp(arena + 14, (const uint8_t *)fake_weights + 3, 5) == 0);
}

// Every workgroup of each dispatch runs once and knows its own index, whatever
// the dispatch before it had.
static void runs_every_workgroup(void) {
  static const uint32_t kCounts[][3] = {
      {5, 3, 2}, {1, 3, 1}, {1, 1, 1}, {1, 1, 4}};
  enum { COUNT = sizeof(kCounts) / sizeof(kCounts[0]) };
  bm_plan_command_t commands[COUNT];
  bm_plan_binding_t bindings[COUNT];
  uint32_t offset = 64;
  for (uint32_t i = 0; i < COUNT; ++i) {
    const uint32_t *count = kCounts[i];
    const bm_plan_command_t command = {
        .kind = BM_COMMAND_DISPATCH,
        .export_index = FAKE_IDS,
        .binding_count = 1,
        .workgroup_count = {count[0], count[1], count[2]},
        .first_binding = i};
    const bm_plan_binding_t binding = {BM_PLAN_REGION_ARENA, WRITE, 64, offset,
                                       count[0] * count[1] * count[2] * 4};
    commands[i] = command;
    bindings[i] = binding;
    offset += 128;
  }
  const bm_plan_t plan = plan_of(commands, COUNT, bindings, COUNT, kUnused, 0);
  const bm_plan_runner_t runner = runner_of(&plan);
  memset(arena, 0xFF, sizeof(arena));
  BM_EXPECT_OK(bm_plan_run(&runner, 0, COUNT));
  for (uint32_t i = 0; i < COUNT; ++i) {
    offset = bindings[i].offset;
    for (uint32_t z = 0; z < kCounts[i][2]; ++z) {
      for (uint32_t y = 0; y < kCounts[i][1]; ++y) {
        for (uint32_t x = 0; x < kCounts[i][0]; ++x) {
          uint32_t id;
          memcpy(&id, arena + offset, sizeof(id));
          BM_EXPECT_EQ(id, x | y << 8 | z << 16);
          offset += sizeof(id);
        }
      }
    }
    BM_EXPECT_EQ(arena[offset], 0xFF);
  }
}

static void stops_when_a_kernel_fails(void) {
  static const bm_plan_command_t kCommands[] = {
      {.kind = BM_COMMAND_DISPATCH,
       .export_index = FAKE_RETURN,
       .constant_count = 1,
       .workgroup_count = {2, 1, 1},
       .first_constant = 0},
      {.kind = BM_COMMAND_DISPATCH,
       .export_index = FAKE_RETURN,
       .constant_count = 1,
       .workgroup_count = {2, 1, 1},
       .first_constant = 1},
      {.kind = BM_COMMAND_DISPATCH,
       .export_index = FAKE_RETURN,
       .constant_count = 1,
       .workgroup_count = {2, 1, 1},
       .first_constant = 0},
  };
  const bm_plan_binding_t unused = {.region = BM_PLAN_REGION_ARENA};
  const uint32_t constants[] = {0, 1};
  bm_plan_t plan = plan_of(kCommands, 3, &unused, 1, constants, 2);
  bm_plan_runner_t runner = runner_of(&plan);
  runner.observer = observe;
  runner.observer_context = observed;
  observed_count = 0;
  BM_EXPECT_CODE(bm_plan_run(&runner, 0, 3), INTERNAL);
  BM_EXPECT_EQ(observed_count, 1);
}

int main(void) {
  BM_TEST(runs_the_fake_plan);
  BM_TEST(runs_ranges_and_observes);
  BM_TEST(fills_patterns);
  BM_TEST(copies_from_weights_and_within_the_arena);
  BM_TEST(runs_every_workgroup);
  BM_TEST(stops_when_a_kernel_fails);
  return bm_test_end();
}

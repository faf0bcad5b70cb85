// Tests what is found about workgroups: that they are apart, that two write the
// same byte, and that one needs what another one writes.
#include "runtime_bm/app/workgroup_check.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

enum {
  MULTIPLY = 2,  // commands
  ADD = 3,
  WORKGROUPS = 4,
};

static BM_ALIGNED uint8_t arena[FAKE_ARENA_BYTES];
static uint8_t memory[3 * FAKE_ELEMENTS * 4];
static const bm_span_t kMemory = {memory, sizeof(memory)};
static fake_tables_t tables;
static bm_plan_t plan;
static bm_plan_runner_t runner;
static bm_workgroup_check_t check;
static const void *functions[FAKE_EXPORT_COUNT];

typedef int kernel_t(const bm_abi_environment_t *environment,
                     const bm_abi_dispatch_state_t *dispatch,
                     const bm_abi_workgroup_state_t *workgroup);

// Writes `count` results from `first`.
static void multiply(const bm_abi_dispatch_state_t *dispatch, uint32_t first,
                     uint32_t count) {
  const float *a = dispatch->binding_pointers[0];
  const float *b = dispatch->binding_pointers[1];
  float *out = dispatch->binding_pointers[2];
  for (uint32_t i = first; i < first + count; ++i) out[i] = a[i] * b[i];
}

static int apart(const bm_abi_environment_t *environment,
                 const bm_abi_dispatch_state_t *dispatch,
                 const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  multiply(dispatch, workgroup->id_x * 16, 16);
  return 0;
}

// The third one begins a number too early.
static int overlapping(const bm_abi_environment_t *environment,
                       const bm_abi_dispatch_state_t *dispatch,
                       const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  const uint32_t early = workgroup->id_x == 2 ? 1 : 0;
  multiply(dispatch, workgroup->id_x * 16 - early, 16 + early);
  return 0;
}

// The second one goes on from the last result of the first.
static int depending(const bm_abi_environment_t *environment,
                     const bm_abi_dispatch_state_t *dispatch,
                     const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  float *out = dispatch->binding_pointers[2];
  multiply(dispatch, workgroup->id_x * 16, 16);
  if (workgroup->id_x == 1) out[20] += out[15];
  return 0;
}

static int failing(const bm_abi_environment_t *environment,
                   const bm_abi_dispatch_state_t *dispatch,
                   const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  (void)dispatch;
  return workgroup->id_x == 3 ? 1 : 0;
}

static void use(kernel_t *kernel, uint32_t command) {
  tables = fake_tables;
  tables.commands[MULTIPLY].workgroup_count[0] = WORKGROUPS;
  plan = fake_plan;
  plan.header = &tables.header;
  functions[tables.commands[command].export_index] =
      (const void *)(uintptr_t)kernel;
  runner = bm_plan_runner_of(&plan, arena, functions);
  memset(arena, 0, sizeof(arena));
  memcpy(arena, fake_golden_data, 256);
}

static bm_status_t run(uint32_t command) {
  return bm_workgroup_check(&runner, command, kMemory, &check);
}

static void workgroups_that_are_apart(void) {
  use(apart, MULTIPLY);
  BM_EXPECT_OK(run(MULTIPLY));
  BM_EXPECT_EQ(check.fault, BM_WORKGROUP_OK);
  // The command has run.
  const float *x = (const float *)arena;
  const float *y = (const float *)(arena + 512);
  for (uint32_t i = 0; i < FAKE_ELEMENTS; ++i) BM_EXPECT(y[i] == 2 * x[i]);
}

// In the order of all three numbers.
static int in_order(const bm_abi_environment_t *environment,
                    const bm_abi_dispatch_state_t *dispatch,
                    const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  const uint32_t row =
      workgroup->id_z * dispatch->workgroup_count_y + workgroup->id_y;
  const uint32_t number = row * dispatch->workgroup_count_x + workgroup->id_x;
  if (workgroup->id_z >= dispatch->workgroup_count_z) return 1;
  multiply(dispatch, number * 16, 16);
  return 0;
}

static void workgroups_of_all_dimensions(void) {
  static const uint32_t kCounts[][3] = {
      {1, 4, 1}, {1, 1, 4}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}};
  for (size_t i = 0; i < sizeof(kCounts) / sizeof(kCounts[0]); ++i) {
    use(in_order, MULTIPLY);
    memcpy(tables.commands[MULTIPLY].workgroup_count, kCounts[i],
           sizeof(kCounts[i]));
    BM_EXPECT_OK(run(MULTIPLY));
    BM_EXPECT_EQ(check.fault, BM_WORKGROUP_OK);
    const float *x = (const float *)arena;
    const float *y = (const float *)(arena + 512);
    for (uint32_t j = 0; j < FAKE_ELEMENTS; ++j) BM_EXPECT(y[j] == 2 * x[j]);
  }
}

static void two_that_write_the_same_byte(void) {
  use(overlapping, MULTIPLY);
  BM_EXPECT_OK(run(MULTIPLY));
  BM_EXPECT_EQ(check.fault, BM_WORKGROUP_OVERLAPS);
  BM_EXPECT_EQ(check.first, 1);
  BM_EXPECT_EQ(check.second, 2);
  BM_EXPECT_EQ(check.binding, 2);
  BM_EXPECT_EQ(check.byte / 4, 31);
}

static void one_that_needs_what_another_writes(void) {
  use(depending, MULTIPLY);
  BM_EXPECT_OK(run(MULTIPLY));
  BM_EXPECT_EQ(check.fault, BM_WORKGROUP_DEPENDS);
  BM_EXPECT_EQ(check.second, 1);
  BM_EXPECT_EQ(check.byte / 4, 20);
}

// y = y * x, in place: what is written is read before.
static void use_in_place(kernel_t *kernel) {
  use(kernel, ADD);
  tables.bindings[tables.commands[ADD].first_binding + 1].offset = 0;
  for (uint32_t i = 0; i < FAKE_ELEMENTS; ++i) ((float *)(arena + 512))[i] = 3;
}

static void results_in_the_place_of_operands(void) {
  use_in_place(apart);
  BM_EXPECT_OK(run(ADD));
  BM_EXPECT_EQ(check.fault, BM_WORKGROUP_OK);
  BM_EXPECT(((const float *)(arena + 512))[63] == 3 * 63);
  use_in_place(depending);
  BM_EXPECT_OK(run(ADD));
  BM_EXPECT_EQ(check.fault, BM_WORKGROUP_DEPENDS);
}

static void refuses_what_it_cannot_check(void) {
  use(apart, MULTIPLY);
  const bm_span_t small = {memory, sizeof(memory) - 1};
  BM_EXPECT_EQ(bm_workgroup_check_bytes(&plan, MULTIPLY), sizeof(memory));
  BM_EXPECT_CODE(bm_workgroup_check(&runner, MULTIPLY, small, &check),
                 RESOURCE_EXHAUSTED);
  BM_EXPECT(bm_workgroup_check_applies(&plan, MULTIPLY));
  BM_EXPECT(!bm_workgroup_check_applies(&plan, 0));
  use(failing, MULTIPLY);
  BM_EXPECT_CODE(run(MULTIPLY), INTERNAL);
}

int main(void) {
  BM_TEST(workgroups_that_are_apart);
  BM_TEST(workgroups_of_all_dimensions);
  BM_TEST(two_that_write_the_same_byte);
  BM_TEST(one_that_needs_what_another_writes);
  BM_TEST(results_in_the_place_of_operands);
  BM_TEST(refuses_what_it_cannot_check);
  return bm_test_end();
}

// Whether several harts may run a plan: overlaps where there is no barrier.
#include "runtime_bm/plan/plan_verify.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

// A copy of the fake plan that a test may corrupt.
static bm_plan_t plan;
static fake_tables_t tables;

// Commands of the fake plan, and some of their bindings.
enum { FILL = 0, COPY = 1, MULTIPLY = 2, ADD = 3 };
enum { COPY_SOURCE = 1, COPY_TARGET = 2, PRODUCT = 5, SUM = 8 };

static void reset(void) {
  plan = fake_plan;
  tables = fake_tables;
  plan.header = &tables.header;
}

static void expect(bm_code_t code) {
  BM_EXPECT_EQ(bm_status_code(bm_plan_verify_order(&plan)), code);
}

static void accepts_commands_that_have_nothing_in_common(void) {
  reset();
  // COPY and MULTIPLY are not apart.
  BM_EXPECT_EQ(tables.commands[MULTIPLY].flags, 0);
  expect(BM_CODE_OK);
}

static void refuses_what_needs_a_barrier(void) {
  reset();  // both write
  tables.commands[COPY].flags = 0;
  expect(BM_CODE_DATA_LOSS);
  reset();  // the second one reads
  tables.commands[ADD].flags = 0;
  expect(BM_CODE_DATA_LOSS);
  reset();  // the first one reads, one byte
  tables.bindings[PRODUCT].region = BM_PLAN_REGION_WEIGHTS;
  tables.bindings[PRODUCT].offset = tables.bindings[COPY_SOURCE].offset +
                                    tables.bindings[COPY_SOURCE].length - 1;
  expect(BM_CODE_DATA_LOSS);
  ++tables.bindings[PRODUCT].offset;
  expect(BM_CODE_OK);
}

static void looks_at_all_commands_since_the_barrier(void) {
  reset();
  tables.commands[COPY].flags = 0;
  tables.bindings[COPY_TARGET].offset = 512;
  tables.bindings[PRODUCT].offset = 0;
  tables.bindings[PRODUCT].length = 256;
  expect(BM_CODE_OK);
  // MULTIPLY and FILL, with COPY between them.
  tables.bindings[PRODUCT].offset = 256;
  expect(BM_CODE_DATA_LOSS);
  tables.commands[COPY].flags = BM_COMMAND_BARRIER;
  expect(BM_CODE_OK);
}

static void lets_commands_read_the_same_bytes(void) {
  reset();
  tables.commands[ADD].flags = 0;
  tables.bindings[PRODUCT].access = BM_PLAN_ACCESS_READ;
  tables.bindings[SUM].offset = 512 + 256;
  tables.bindings[COPY_TARGET].offset = 1024;
  expect(BM_CODE_OK);
}

// Nothing is known about rows that drivers change.
static void wants_barriers_where_drivers_change_rows(void) {
  reset();
  plan.bindings = tables.bindings;
  expect(BM_CODE_DATA_LOSS);
  tables.commands[MULTIPLY].flags = BM_COMMAND_BARRIER;
  expect(BM_CODE_OK);
}

static void counts_workgroups_in_32_bits(void) {
  reset();
  uint32_t *count = tables.commands[ADD].workgroup_count;
  count[0] = 65536;
  count[1] = 65535;
  expect(BM_CODE_OK);
  count[2] = 2;
  expect(BM_CODE_UNIMPLEMENTED);
  count[0] = UINT32_MAX;
  count[1] = UINT32_MAX;
  expect(BM_CODE_UNIMPLEMENTED);
}

int main(void) {
  BM_TEST(accepts_commands_that_have_nothing_in_common);
  BM_TEST(refuses_what_needs_a_barrier);
  BM_TEST(looks_at_all_commands_since_the_barrier);
  BM_TEST(lets_commands_read_the_same_bytes);
  BM_TEST(wants_barriers_where_drivers_change_rows);
  BM_TEST(counts_workgroups_in_32_bits);
  return bm_test_end();
}

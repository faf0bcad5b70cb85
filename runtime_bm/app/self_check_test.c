// Tests that golden data which does not belong to a plan is refused, which
// answers are wrong, and what a trap would say meanwhile.
#include "runtime_bm/app/self_check.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

static fake_tables_t tables;
static bm_plan_t plan;
static bm_golden_t golden;

static void reset(void) {
  tables = fake_tables;
  plan = fake_plan;
  plan.header = &tables.header;
  golden = fake_golden;
}

// Changes one field of fresh copies, which the check must notice.
#define EXPECT_SPOILED(lvalue, value)                                       \
  do {                                                                      \
    reset();                                                                \
    (lvalue) = (value);                                                     \
    BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT); \
  } while (0)

static void accepts_its_own_data(void) {
  BM_EXPECT_OK(bm_self_check_verify(&fake_plan, &fake_golden));
  reset();
  BM_EXPECT_OK(bm_self_check_verify(&plan, &golden));
}

static void data_has_the_size_of_all_cases(void) {
  EXPECT_SPOILED(golden.data_bytes, 0);
  EXPECT_SPOILED(golden.data_bytes, FAKE_CASE_COUNT * FAKE_CASE_BYTES - 1);
  EXPECT_SPOILED(golden.data_bytes,
                 FAKE_CASE_COUNT * FAKE_CASE_BYTES + BM_GOLDEN_ALIGNMENT);
  EXPECT_SPOILED(golden.case_count, FAKE_CASE_COUNT - 1);
  EXPECT_SPOILED(golden.case_count, FAKE_CASE_COUNT + 1);
  EXPECT_SPOILED(tables.inputs[0].length, 257);
  EXPECT_SPOILED(tables.outputs[0].length, 192);
}

// 2^23 more cases of 512 bytes are 2^32 bytes more, which 32 bits do not show.
static void sizes_do_not_wrap_around(void) {
  EXPECT_SPOILED(golden.case_count, FAKE_CASE_COUNT + (1u << 23));
}

static void every_tensor_is_padded(void) {
  reset();
  tables.inputs[0].length = 193;  // takes 256 bytes
  tables.outputs[0].length = 4;   // takes 64
  BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT);
  golden.data_bytes = FAKE_CASE_COUNT * (256 + 64);
  BM_EXPECT_OK(bm_self_check_verify(&plan, &golden));
}

static void there_is_a_case(void) {
  reset();
  golden.case_count = 0;
  golden.data_bytes = 0;
  BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT);
}

static void every_case_calls_an_entry_point(void) {
  bm_golden_call_t calls[FAKE_CASE_COUNT] = {{0, 0}, {0, 1}};
  reset();
  golden.calls = calls;
  BM_EXPECT_OK(bm_self_check_verify(&plan, &golden));
  calls[1].entry = FAKE_ENTRY_COUNT;
  BM_EXPECT_CODE(bm_self_check_verify(&plan, &golden), INVALID_ARGUMENT);
}

// Golden data that tests change.
static float data[FAKE_CASE_COUNT][2][FAKE_ELEMENTS];  // inputs, outputs
static BM_ALIGNED uint8_t arena[FAKE_ARENA_BYTES];
static bm_model_t model;

static void begin(void) {
  const bm_span_t room = {arena, sizeof(arena)};
  const bm_span_t no_code = {NULL, 0};
  reset();
  memcpy(data, fake_golden_data, sizeof(data));
  golden.data = (const uint8_t *)data;
  BM_EXPECT_OK(bm_model_init(&model, &plan, room, no_code));
}

static void run(bool ok, uint32_t bad) {
  bm_self_check_t check = {!ok, bad + 1};
  BM_EXPECT_OK(bm_self_check_run("fake", &model, &golden, &check));
  BM_EXPECT_EQ(check.ok, ok);
  BM_EXPECT_EQ(check.bad, bad);
}

static void every_answer_is_compared(void) {
  begin();
  run(true, 0);
  for (uint32_t i = 0; i < FAKE_CASE_COUNT; ++i) {
    begin();
    data[i][1][0] += 1;
    run(false, 1);
    begin();
    data[i][1][FAKE_ELEMENTS - 1] += 1;
    run(false, 1);
    // Answers for other inputs.
    begin();
    data[i][0][1] += 1;
    run(false, 1);
  }
  data[0][1][0] += 1;
  run(false, 2);
}

// As many answers must be the label as in the framework, also if all match.
static void labels_are_counted(void) {
  uint32_t labels[FAKE_CASE_COUNT] = {FAKE_ELEMENTS - 1, 0};
  begin();
  golden.labels = (const uint8_t *)labels;
  golden.framework_correct = 1;
  run(true, 0);
  labels[1] = FAKE_ELEMENTS - 1;
  run(false, 0);
  golden.framework_correct = 2;
  run(true, 0);
  data[1][1][0] += 1;
  run(false, 1);
}

// What a trap would say at the instruction `pc`.
static bool says(uintptr_t pc, const char *end) {
  bm_text_t text;
  bm_text_clear(&text);
  bm_trap_record(&text, 2, pc, 0);
  size_t size = 0;
  while (end[size] != '\0') ++size;
  return text.size >= size &&
         memcmp(text.bytes + text.size - size, end, size) == 0;
}

static const void *functions[FAKE_EXPORT_COUNT];
static bool is_named;

// Stands for fake_multiply. Other functions seem to begin in its middle.
static int trapping(const bm_abi_environment_t *environment,
                    const bm_abi_dispatch_state_t *dispatch,
                    const bm_abi_workgroup_state_t *workgroup) {
  (void)environment;
  (void)dispatch;
  (void)workgroup;
  const uintptr_t at = (uintptr_t)functions[FAKE_MULTIPLY];
  is_named = says(at, " model=- dispatch=2 kernel=fake_multiply\n") &&
             says(at + 1, " model=- dispatch=2 kernel=fake_multiply\n") &&
             says(at + 2, " model=- dispatch=2 kernel=fake_return\n") &&
             says(at + 4, " model=- dispatch=2 kernel=fake_ids\n") &&
             says(0, " model=- dispatch=2 kernel=-\n");
  return 1;
}

static void a_trap_names_the_kernel(void) {
  begin();
  memcpy(functions, model.runner.functions, sizeof(functions));
  functions[FAKE_MULTIPLY] = (const void *)(uintptr_t)trapping;
  functions[FAKE_IDS] = (const uint8_t *)functions[FAKE_MULTIPLY] + 4;
  functions[FAKE_RETURN] = (const uint8_t *)functions[FAKE_MULTIPLY] + 2;
  model.runner.functions = functions;
  bm_self_check_t check;
  BM_EXPECT_CODE(bm_self_check_run("fake", &model, &golden, &check), INTERNAL);
  BM_EXPECT(is_named);
  // Between runs there is none.
  begin();
  run(true, 0);
  BM_EXPECT(says((uintptr_t)functions[FAKE_MULTIPLY],
                 " model=- dispatch=- kernel=-\n"));
}

int main(void) {
  BM_TEST(accepts_its_own_data);
  BM_TEST(data_has_the_size_of_all_cases);
  BM_TEST(sizes_do_not_wrap_around);
  BM_TEST(every_tensor_is_padded);
  BM_TEST(there_is_a_case);
  BM_TEST(every_case_calls_an_entry_point);
  BM_TEST(every_answer_is_compared);
  BM_TEST(labels_are_counted);
  BM_TEST(a_trap_names_the_kernel);
  return bm_test_end();
}

// Tests which answers are wrong and what a trap would say meanwhile. It prints
// the self-check's records, so only the host runs it.
#include "runtime_bm/app/self_check.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/exec/dispatch.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

// Golden data that tests change.
static float data[FAKE_CASE_COUNT][2][FAKE_ELEMENTS];  // inputs, outputs
static BM_ALIGNED uint8_t arena[FAKE_ARENA_BYTES];
static bm_golden_t golden;
static bm_model_t model;

static void begin(void) {
  const bm_span_t room = {arena, sizeof(arena)};
  const bm_span_t no_code = {NULL, 0};
  golden = fake_golden;
  memcpy(data, fake_golden_data, sizeof(data));
  golden.data = (const uint8_t *)data;
  BM_EXPECT_OK(bm_model_init(&model, &fake_plan, room, no_code));
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
  BM_TEST(every_answer_is_compared);
  BM_TEST(labels_are_counted);
  BM_TEST(a_trap_names_the_kernel);
  return bm_test_end();
}

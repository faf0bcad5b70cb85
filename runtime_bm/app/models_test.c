#include "runtime_bm/app/firmware.h"
#include "runtime_bm/crt/image.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

// The table that the build would generate.
const bm_firmware_model_t bm_firmware_models[] = {
    {"fake", &fake_plan, {NULL, 0}},
    {"fake_2", &fake_plan, {NULL, 0}},
};
const uint32_t bm_firmware_model_count = 2;
static uint8_t arena[FAKE_ARENA_BYTES] BM_FIRMWARE_ARENA;
const bm_span_t bm_firmware_arena = {arena, sizeof(arena)};

static void models_are_found_by_their_whole_name(void) {
  BM_EXPECT(bm_firmware_find("fake") == &bm_firmware_models[0]);
  BM_EXPECT(bm_firmware_find("fake_2") == &bm_firmware_models[1]);
  BM_EXPECT(bm_firmware_find("fake_") == NULL);
  BM_EXPECT(bm_firmware_find("fake_22") == NULL);
  BM_EXPECT(bm_firmware_find("") == NULL);
}

// Runs a model on x[i] = `x`; returns an element of the output.
static float run(bm_model_t *model, float x) {
  bm_tensor_t tensor;
  BM_EXPECT(bm_model_input(model, 0, &tensor).bits == 0);
  float *in = tensor.data;
  for (uint32_t i = 0; i < FAKE_ELEMENTS; ++i) in[i] = x;
  BM_EXPECT(bm_model_run(model).bits == 0);
  BM_EXPECT(bm_model_output(model, 0, &tensor).bits == 0);
  return ((const float *)tensor.data)[2];
}

static void models_take_turns_in_one_arena(void) {
  bm_model_t first;
  bm_model_t second;
  bm_tensor_t a;
  bm_tensor_t b;
  BM_EXPECT(bm_firmware_init(&bm_firmware_models[0], &first).bits == 0);
  BM_EXPECT(bm_firmware_init(&bm_firmware_models[1], &second).bits == 0);
  BM_EXPECT(run(&first, 3) == 7);  // y = 2x + i / 2
  BM_EXPECT(run(&second, 5) == 11);
  BM_EXPECT(run(&first, 3) == 7);
  BM_EXPECT(bm_model_output(&first, 0, &a).bits == 0);
  BM_EXPECT(bm_model_output(&second, 0, &b).bits == 0);
  BM_EXPECT(a.data == b.data);
}

// A model whose checks the test makes, as tools/actions/seal does of an image.
static fake_tables_t tables;
static _Alignas(BM_PLAN_ALIGNMENT) uint8_t weights[FAKE_WEIGHTS_BYTES];
static uint32_t kernels[10];
static bm_check_t checks[BM_PART_COUNT];
static const bm_plan_t kPlan = {.header = &tables.header,
                                .weights = weights,
                                .executables = &fake_executable,
                                .checks = checks};

static bm_check_t check_of(const void *bytes, size_t size) {
  bm_check_t check = {.start = bytes, .end = (const uint8_t *)bytes + size};
  bm_sum_extend(&check.sum, bytes, size / 4);
  check.guard = ~((uintptr_t)check.start ^ (uintptr_t)check.end);
  return check;
}

static void seal_model(void) {
  tables = fake_tables;
  checks[BM_PART_PLAN] = check_of(&tables, sizeof(tables));
  checks[BM_PART_KERNELS] = check_of(kernels, sizeof(kernels));
  checks[BM_PART_WEIGHTS] = check_of(weights, sizeof(weights));
}

// Verifies the model, `bytes` at a time. Returns how many steps it took.
static uint32_t verify_model(size_t bytes, bm_verify_t *at,
                             bm_status_t *out_status) {
  uint32_t steps = 0;
  *at = (bm_verify_t){0};
  do {
    *out_status = bm_model_verify(&kPlan, bytes, at);
    ++steps;
  } while (out_status->bits == 0 && at->part != BM_PART_COUNT);
  return steps;
}

static bm_status_t init_model(void) {
  const bm_span_t no_code = {NULL, 0};
  bm_model_t model;
  return bm_model_init(&model, &kPlan, bm_firmware_arena, no_code);
}

static void a_model_is_verified_in_steps(void) {
  bm_verify_t at;
  bm_status_t status;
  seal_model();
  BM_EXPECT_EQ(verify_model(SIZE_MAX, &at, &status), BM_PART_COUNT);
  BM_EXPECT_OK(status);
  const uint32_t words =
      (sizeof(tables) + sizeof(kernels) + sizeof(weights)) / 4;
  BM_EXPECT_EQ(verify_model(4, &at, &status), words);
  BM_EXPECT_OK(status);
  (void)verify_model(99, &at, &status);
  BM_EXPECT_OK(status);
  BM_EXPECT_CODE(bm_model_verify(&kPlan, 4, &at), INVALID_ARGUMENT);
}

static void the_damaged_part_is_named(void) {
  bm_verify_t at;
  bm_status_t status;
  seal_model();
  tables.strings[1] ^= 4;
  (void)verify_model(64, &at, &status);
  BM_EXPECT_CODE(status, DAMAGED);
  BM_EXPECT_EQ(at.part, BM_PART_PLAN);
  BM_EXPECT_CODE(init_model(), DAMAGED);
  seal_model();
  kernels[9] ^= 0x80000000;
  (void)verify_model(64, &at, &status);
  BM_EXPECT_CODE(status, DAMAGED);
  BM_EXPECT_EQ(at.part, BM_PART_KERNELS);
  BM_EXPECT_CODE(init_model(), DAMAGED);
  kernels[9] ^= 0x80000000;
  weights[FAKE_WEIGHTS_BYTES - 1] ^= 1;
  (void)verify_model(64, &at, &status);
  BM_EXPECT_CODE(status, DAMAGED);
  BM_EXPECT_EQ(at.part, BM_PART_WEIGHTS);
  weights[FAKE_WEIGHTS_BYTES - 1] ^= 1;
}

static void weights_are_left_to_the_application(void) {
  seal_model();
  weights[0] ^= 1;
  BM_EXPECT_OK(init_model());
  weights[0] ^= 1;
}

static void a_model_without_checks_runs(void) {
  bm_verify_t at = {0};
  BM_EXPECT_CODE(bm_model_verify(&fake_plan, 4, &at), FAILED_PRECONDITION);
  seal_model();
  checks[BM_PART_PLAN].guard = 0;
  BM_EXPECT_CODE(bm_model_verify(&kPlan, 4, &at), FAILED_PRECONDITION);
  BM_EXPECT_OK(init_model());
}

static void the_image_of_this_test_is_intact(void) {
  bm_verify_t at = {0};
  BM_EXPECT_OK(bm_firmware_verify(&at));
  BM_EXPECT_EQ(at.part, bm_image_check_count);
}

int main(void) {
  // First, before a variable with an initial value changes.
  BM_TEST(the_image_of_this_test_is_intact);
  BM_TEST(models_are_found_by_their_whole_name);
  BM_TEST(models_take_turns_in_one_arena);
  BM_TEST(a_model_is_verified_in_steps);
  BM_TEST(the_damaged_part_is_named);
  BM_TEST(weights_are_left_to_the_application);
  BM_TEST(a_model_without_checks_runs);
  return bm_test_end();
}

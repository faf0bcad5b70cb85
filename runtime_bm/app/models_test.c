#include "runtime_bm/app/firmware.h"
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

int main(void) {
  BM_TEST(models_are_found_by_their_whole_name);
  BM_TEST(models_take_turns_in_one_arena);
  return bm_test_end();
}

// Every case matches within its tolerance, but the target classifies fewer
// right than the framework did. Ends with FAIL and exit status 1.
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/testing/fake_model.h"

static const uint32_t kLabels[FAKE_CASE_COUNT] = {0};
static const bm_golden_output_t kPolicy[] = {
    {.policy = BM_GOLDEN_FLOAT, .atol = 1e-6f, .min_cosine = -2.0f}};
static const bm_golden_t kGolden = {
    .case_count = FAKE_CASE_COUNT,
    .data = (const uint8_t *)fake_golden_data,
    .case_bytes = FAKE_CASE_BYTES,
    .outputs = kPolicy,
    .labels = (const uint8_t *)kLabels,
    .framework_correct = FAKE_CASE_COUNT + 1,
};

static uint8_t arena[FAKE_ARENA_BYTES] BM_FIRMWARE_ARENA;

const bm_plan_t *const bm_firmware_plan = &fake_plan;
const bm_golden_t *const bm_firmware_golden = &kGolden;
const char bm_firmware_board[] = "test";
const char bm_firmware_isa[] = "any";
const bm_span_t bm_firmware_arena = {arena, sizeof(arena)};
const bm_span_t bm_firmware_code = {NULL, 0};

// Every case matches within its tolerance, but the target classifies fewer
// cases correctly than the framework did. Ends with FAIL and exit status 1.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

static const uint32_t kLabels[FAKE_CASE_COUNT] = {0};
static const bm_golden_output_t kPolicy[] = {
    {.policy = BM_GOLDEN_FLOAT, .atol = 1e-6f, .min_cosine = -2.0f}};
static const bm_golden_t kGolden = {
    .case_count = FAKE_CASE_COUNT,
    .data = (const uint8_t *)fake_golden_data,
    .data_bytes = FAKE_CASE_COUNT * FAKE_CASE_BYTES,
    .outputs = kPolicy,
    .labels = (const uint8_t *)kLabels,
    .framework_correct = FAKE_CASE_COUNT + 1,
};

FAKE_FIRMWARE(&fake_plan, &kGolden, "any");

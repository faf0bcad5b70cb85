// Two models; the second reads its weights from an address without memory. Ends
// with TRAP, which names that model and its command, and exit status 3.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

static const bm_plan_t kPlan = FAKE_PLAN(UINTPTR_MAX - 0xFFFFFF);

const bm_firmware_model_t bm_firmware_models[] = {
    {"first", &fake_plan, {NULL, 0}},
    {"second", &kPlan, {NULL, 0}},
};
const bm_golden_t *const bm_firmware_goldens[] = {&fake_golden, &fake_golden};
FAKE_IMAGE(2, "any");

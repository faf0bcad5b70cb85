// Three models in one arena; the weights of the second are changed. The first
// and the last match although another model ran in between. Ends with FAIL,
// which names the second, and exit status 1.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

_Alignas(BM_PLAN_ALIGNMENT) static const
    float kWrong[FAKE_WEIGHTS_BYTES / 4] = {3.0f};
static const bm_plan_t kWrongPlan = FAKE_PLAN(kWrong);

const bm_firmware_model_t bm_firmware_models[] = {
    {"first", &fake_plan, {NULL, 0}},
    {"second", &kWrongPlan, {NULL, 0}},
    {"third", &fake_plan, {NULL, 0}},
};
const bm_golden_t *const bm_firmware_goldens[] = {&fake_golden, &fake_golden,
                                                  &fake_golden};
FAKE_IMAGE(3, "any");

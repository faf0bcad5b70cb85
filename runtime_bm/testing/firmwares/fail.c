// The negative control for pass.c: every weight is changed, so the cases must
// not match. Ends with FAIL and exit status 1.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

_Alignas(BM_PLAN_ALIGNMENT) static const
    float kWrong[FAKE_WEIGHTS_BYTES / 4] = {3.0f};
static const bm_plan_t kPlan = FAKE_PLAN(kWrong);

FAKE_FIRMWARE(&kPlan, &fake_golden, "any");

// A firmware that passes. Link with //runtime_bm/app:main.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

FAKE_FIRMWARE(&fake_plan, &fake_golden, "any");

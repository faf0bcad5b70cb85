// An image whose code needs an extension, N, that no hart in the tests has.
// It must end with ERROR and exit status 2.
#include "runtime_bm/testing/firmwares/fake_firmware.h"

FAKE_FIRMWARE(&fake_plan, &fake_golden, "rv64gcn");

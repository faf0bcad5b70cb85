// What the build records about a self-checking firmware image, besides its
// models (models.h). The same generated .c file defines both.
#ifndef RUNTIME_BM_APP_FIRMWARE_H_
#define RUNTIME_BM_APP_FIRMWARE_H_

#include "runtime_bm/app/golden.h"
#include "runtime_bm/app/models.h"
#include "runtime_bm/base/device.h"

BM_EXTERN_C_BEGIN

// Places a static object where startup does not clear it and where it takes no
// space in the image. The name must begin with ".bss", or the compiler emits a
// section with contents.
#define BM_FIRMWARE_ARENA __attribute__((section(".bss.bm_arena"), aligned(64)))
#define BM_FIRMWARE_CODE __attribute__((section(".bss.bm_code"), aligned(4096)))

// The golden data of bm_firmware_models, in the same order. It is a separate
// table so that an application that does not use it carries no golden data.
extern const bm_golden_t *const bm_firmware_goldens[];
extern const char bm_firmware_board[];  // "qemu_virt_rv64"
extern const char bm_firmware_isa[];    // the image's, "rv64gcv_zvl256b"
// Of the devices that its kernel libraries drive; ends with NULL.
extern const bm_device_use_function_t bm_firmware_devices[];

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_FIRMWARE_H_

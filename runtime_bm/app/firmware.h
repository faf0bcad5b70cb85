// What the build says about a firmware image that checks itself, beside the
// models in it (models.h). The same generated .c file defines both.
#ifndef RUNTIME_BM_APP_FIRMWARE_H_
#define RUNTIME_BM_APP_FIRMWARE_H_

#include "runtime_bm/app/golden.h"
#include "runtime_bm/app/models.h"

BM_EXTERN_C_BEGIN

// Puts a static object where startup does not clear it and where it takes no
// room in the image. The name begins with ".bss" because that is what makes a
// C compiler emit a section without contents.
#define BM_FIRMWARE_ARENA __attribute__((section(".bss.bm_arena"), aligned(64)))
#define BM_FIRMWARE_CODE __attribute__((section(".bss.bm_code"), aligned(4096)))

// Of bm_firmware_models, in the same order. Apart from it, so that an
// application that never asks carries no golden data.
extern const bm_golden_t *const bm_firmware_goldens[];
extern const char bm_firmware_board[];  // "qemu_virt_rv64"
extern const char bm_firmware_isa[];    // of the image: "rv64gcv_zvl256b"

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_FIRMWARE_H_

// The one model of a firmware image. The build generates the .c file that
// defines these; runtime_bm/app/main.c runs what it finds here.
#ifndef RUNTIME_BM_APP_FIRMWARE_H_
#define RUNTIME_BM_APP_FIRMWARE_H_

#include "runtime_bm/app/golden.h"
#include "runtime_bm/base/span.h"
#include "runtime_bm/plan/plan.h"

BM_EXTERN_C_BEGIN

// Puts a static array where startup does not clear it and where it takes no
// room in the image. The name begins with ".bss" because that is what makes a
// C compiler emit a section without contents.
#define BM_FIRMWARE_ARENA __attribute__((section(".bss.bm_arena"), aligned(64)))
#define BM_FIRMWARE_CODE __attribute__((section(".bss.bm_code"), aligned(4096)))

extern const bm_plan_t *const bm_firmware_plan;
extern const bm_golden_t *const bm_firmware_golden;
extern const char bm_firmware_board[];  // "qemu_virt_rv64"
extern const char bm_firmware_isa[];    // of the image: "rv64gcv_zvl256b"
// The model's memory, see bm_model_init. `code` is {NULL, 0} when the kernels
// are prelinked.
extern const bm_span_t bm_firmware_arena;
extern const bm_span_t bm_firmware_code;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_FIRMWARE_H_

// Status: one 32-bit word, no strings on the target.
//
//   bits 31..24  file that raised it (bm_file_t)
//   bits 23..12  line in that file
//   bits 11..0   code (bm_code_t)
//
// 0 is success. This field order needs the smallest instructions to build the
// constants, and there are a hundred of them. To turn a word back into file,
// line and source text, run `tools/status/decode.py 0304700b`. It reads the two
// enums below, so keep one constant per line.
#ifndef RUNTIME_BM_BASE_STATUS_H_
#define RUNTIME_BM_BASE_STATUS_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

typedef struct bm_status_t {
  uint32_t bits;
} bm_status_t;

// What went wrong.
typedef enum bm_code_t {
  BM_CODE_OK = 0,
  BM_CODE_INVALID_ARGUMENT = 3,     // the caller passed something wrong
  BM_CODE_NOT_FOUND = 5,            // a symbol or name is missing
  BM_CODE_RESOURCE_EXHAUSTED = 8,   // a span given by the caller is too small
  BM_CODE_FAILED_PRECONDITION = 9,  // this hart cannot run the image
  BM_CODE_OUT_OF_RANGE = 11,        // a table points outside its memory
  BM_CODE_UNIMPLEMENTED = 12,       // valid, but not offered by this runtime
  BM_CODE_INTERNAL = 13,            // a kernel reported an error
  BM_CODE_DATA_LOSS = 15,           // an image is malformed
  BM_CODE_DAMAGED = 16,             // bytes are not those that were built
} bm_code_t;

// Where it was raised: one constant per .c file that raises a status.
typedef enum bm_file_t {
  BM_FILE_ELF_LOADER = 1,   // runtime_bm/elf/elf_loader.c
  BM_FILE_EXECUTABLE = 2,   // runtime_bm/exec/executable.c
  BM_FILE_PLAN_VERIFY = 3,  // runtime_bm/plan/plan_verify.c
  BM_FILE_PLAN_RUN = 4,     // runtime_bm/plan/plan_run.c
  BM_FILE_MODEL = 5,        // runtime_bm/model/model.c
  BM_FILE_SELF_CHECK = 6,   // runtime_bm/app/self_check.c
  BM_FILE_STACK = 7,        // runtime_bm/crt/stack.c
  BM_FILE_PLAN_DRIVER = 8,  // runtime_bm/plan/plan_driver.c
  BM_FILE_MACHINE = 9,      // runtime_bm/app/machine.c
  BM_FILE_CHECK = 10,       // runtime_bm/base/check.c
} bm_file_t;

static inline bm_status_t bm_ok(void) {
  bm_status_t status = {0};
  return status;
}

static inline bm_status_t bm_status_make(bm_code_t code, bm_file_t file,
                                         uint32_t line) {
  bm_status_t status = {((uint32_t)file << 24) | ((line & 0xFFFu) << 12) |
                        (uint32_t)code};
  return status;
}

static inline bm_code_t bm_status_code(bm_status_t status) {
  return (bm_code_t)(status.bits & 0xFFFu);
}

// Raises a status in a .c file that has defined BM_FILE as its bm_file_t.
#define BM_ERROR(code) bm_status_make(BM_CODE_##code, BM_FILE, __LINE__)

// Returns from the calling function with the status of `expression` unless it
// is success. This is the only way to propagate a status.
#define BM_TRY(expression)                    \
  do {                                        \
    const bm_status_t bm_try_ = (expression); \
    if (bm_try_.bits != 0) return bm_try_;    \
  } while (0)

// Returns from the calling function with an error unless `condition` holds.
#define BM_CHECK(condition, code)            \
  do {                                       \
    if (!(condition)) return BM_ERROR(code); \
  } while (0)

#endif  // RUNTIME_BM_BASE_STATUS_H_

// Status: one 32-bit word, no strings on the target.
//
//   bits 31..24  file that raised it (bm_file_t)
//   bits 23..12  line in that file
//   bits 11..0   code (bm_code_t)
//
// 0 is success. This field order needs the smallest instructions to build the
// constants, a hundred of them. `tools/run/decode_status/decode.py 0304700b`
// turns a word back into file, line and source text; bm_status_text does so on
// the target. Both read the two tables below, so keep one row per line.
#ifndef RUNTIME_BM_BASE_STATUS_H_
#define RUNTIME_BM_BASE_STATUS_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/text.h"

BM_EXTERN_C_BEGIN

typedef struct bm_status_t {
  uint32_t bits;
} bm_status_t;

// What went wrong: name, number, meaning.
#define BM_CODES(CODE)                                                   \
  CODE(OK, 0, "success")                                                 \
  CODE(INVALID_ARGUMENT, 3, "the caller passed something wrong")         \
  CODE(NOT_FOUND, 5, "a symbol or name is missing")                      \
  CODE(RESOURCE_EXHAUSTED, 8, "a span given by the caller is too small") \
  CODE(FAILED_PRECONDITION, 9, "this hart cannot run the image")         \
  CODE(OUT_OF_RANGE, 11, "a table points outside its memory")            \
  CODE(UNIMPLEMENTED, 12, "valid, but not offered by this runtime")      \
  CODE(INTERNAL, 13, "a kernel reported an error")                       \
  CODE(DATA_LOSS, 15, "an image is malformed")                           \
  CODE(DAMAGED, 16, "bytes are not those that were built")               \
  CODE(DEVICE_FAILED, 17, "a device reported an error")                  \
  CODE(TIMED_OUT, 18, "a device did not end in time")                    \
  CODE(HART_MISSING, 19, "this machine has fewer harts than the image")

// Where it was raised: one row per .c file that raises a status, and one for
// those of applications.
#define BM_FILES(FILE)                                          \
  FILE(ELF_LOADER, 1, "runtime_bm/elf/elf_loader.c")            \
  FILE(EXECUTABLE, 2, "runtime_bm/exec/executable.c")           \
  FILE(PLAN_VERIFY, 3, "runtime_bm/plan/plan_verify.c")         \
  FILE(PLAN_RUN, 4, "runtime_bm/plan/plan_run.c")               \
  FILE(MODEL, 5, "runtime_bm/model/model.c")                    \
  FILE(SELF_CHECK, 6, "runtime_bm/app/self_check.c")            \
  FILE(STACK, 7, "runtime_bm/crt/stack.c")                      \
  FILE(PLAN_DRIVER, 8, "runtime_bm/plan/plan_driver.c")         \
  FILE(MACHINE, 9, "runtime_bm/app/machine.c")                  \
  FILE(CHECK, 10, "runtime_bm/base/check.c")                    \
  FILE(KERNEL_CHECK, 11, "runtime_bm/app/kernel_check.c")       \
  FILE(SERVICE, 12, "runtime_bm/app/service.c")                 \
  FILE(MATRIX_UNIT, 13, "examples/matrix_unit/matrix_unit.c")   \
  FILE(PLAN_ORDER, 14, "runtime_bm/plan/plan_order.c")          \
  FILE(HARTS, 15, "runtime_bm/harts/harts.c")                   \
  FILE(PLAN_SHARE, 16, "runtime_bm/plan/plan_share.c")          \
  FILE(WORKGROUP_CHECK, 17, "runtime_bm/app/workgroup_check.c") \
  FILE(TOKENIZER, 18, "runtime_bm/text/tokenizer.c")            \
  FILE(TEXT_VERIFY, 19, "runtime_bm/text/verify.c")             \
  FILE(NORMALIZE, 20, "runtime_bm/text/normalize.c")            \
  FILE(PIECES, 21, "runtime_bm/text/pieces.c")                  \
  FILE(BPE, 22, "runtime_bm/text/bpe.c")                        \
  FILE(DECODER, 23, "runtime_bm/text/decoder.c")                \
  FILE(SAMPLER, 24, "runtime_bm/text/sampler.c")                \
  FILE(CHAT, 25, "runtime_bm/app/chat.c")                       \
  FILE(APPLICATION, 255, "the application")

#define BM_CODE_ENUMERATOR(name, number, text) BM_CODE_##name = (number),
#define BM_FILE_ENUMERATOR(name, number, text) BM_FILE_##name = (number),
typedef enum bm_code_t { BM_CODES(BM_CODE_ENUMERATOR) } bm_code_t;
typedef enum bm_file_t { BM_FILES(BM_FILE_ENUMERATOR) } bm_file_t;
#undef BM_CODE_ENUMERATOR
#undef BM_FILE_ENUMERATOR

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

// For applications; the runtime itself uses BM_TRY.
static inline bool bm_status_is_ok(bm_status_t status) {
  return status.bits == 0;
}

// Appends what tools/run/decode_status says about `status`, without the source:
// "0x0512300f: DATA_LOSS (an image is malformed) at
// runtime_bm/model/model.c:291" An image carries the texts only if it calls
// this.
void bm_status_text(bm_text_t *text, bm_status_t status);

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

BM_EXTERN_C_END

#endif  // RUNTIME_BM_BASE_STATUS_H_

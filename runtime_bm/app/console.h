// Writes lines of text to the board's console.
#ifndef RUNTIME_BM_APP_CONSOLE_H_
#define RUNTIME_BM_APP_CONSOLE_H_

#include "runtime_bm/base/result.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/hal/hal.h"

BM_EXTERN_C_BEGIN

// Starts a record of the console protocol: "BM1 " and its first words.
static inline void bm_console_record(bm_text_t *line, const char *begin) {
  bm_text_clear(line);
  bm_text_string(line, BM_RESULT_PREFIX);
  bm_text_string(line, begin);
}

// Starts an ERROR record.
static inline void bm_console_error(bm_text_t *line, bm_status_t status) {
  bm_console_record(line, "ERROR status=");
  bm_text_hex(line, status.bits, 8);
  bm_text_string(line, " ");
}

// Appends `key` (with its space and "=") and a decimal number.
static inline void bm_console_field(bm_text_t *line, const char *key,
                                    uint64_t value) {
  bm_text_string(line, key);
  bm_text_u64(line, value);
}

// Writes the line and a newline.
static inline void bm_console_write(const bm_text_t *line) {
  bm_hal_console_write(line->bytes, line->size);
  bm_hal_console_write("\n", 1);
}

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_CONSOLE_H_

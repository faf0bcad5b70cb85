#include "runtime_bm/testing/bm_test.h"

#include "runtime_bm/app/console.h"

static const char *current;
static bool current_failed;
static uint32_t tests;
static uint32_t failed_tests;

void bm_test_begin(const char *name) {
  if (tests == 0) bm_hal_init();
  ++tests;
  current = name;
  current_failed = false;
}

// Begins the line of a failure: "file:line: test: text".
static void begin_failure(bm_text_t *line, const char *file,
                          uint32_t line_number, const char *text) {
  if (!current_failed) ++failed_tests;
  current_failed = true;
  bm_text_clear(line);
  bm_text_string(line, file);
  bm_text_string(line, ":");
  bm_text_u64(line, line_number);
  bm_text_string(line, ": ");
  bm_text_string(line, current);
  bm_text_string(line, ": failed: ");
  bm_text_string(line, text);
}

bool bm_test_expect(bool condition, const char *file, uint32_t line,
                    const char *text) {
  bm_text_t message;
  if (condition) return true;
  begin_failure(&message, file, line, text);
  bm_console_write(&message);
  return false;
}

bool bm_test_expect_eq(uint64_t got, uint64_t want, const char *file,
                       uint32_t line, const char *text) {
  bm_text_t message;
  if (got == want) return true;
  begin_failure(&message, file, line, text);
  bm_text_string(&message, ": got 0x");
  bm_text_hex(&message, got, 1);
  bm_text_string(&message, ", want 0x");
  bm_text_hex(&message, want, 1);
  bm_console_write(&message);
  return false;
}

bool bm_test_expect_code(bm_status_t status, bm_code_t want, const char *file,
                         uint32_t line, const char *text) {
  bm_text_t message;
  if (bm_status_code(status) == want) return true;
  begin_failure(&message, file, line, text);
  bm_text_string(&message, ": got status ");
  bm_text_hex(&message, status.bits, 8);
  bm_console_write(&message);
  return false;
}

int bm_test_end(void) {
  bm_text_t line;
  bm_console_record(&line, failed_tests == 0 ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", tests);
  if (failed_tests != 0) bm_console_field(&line, " bad=", failed_tests);
  bm_console_write(&line);
  return failed_tests == 0 ? 0 : BM_EXIT_FAIL;
}

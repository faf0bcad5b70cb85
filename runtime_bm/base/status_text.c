#include <stddef.h>

#include "runtime_bm/base/status.h"

typedef struct row_t {
  uint32_t number;
  const char *name;  // NULL in the table of files
  const char *text;
} row_t;

#define CODE_ROW(name, number, text) {(number), #name, (text)},
#define FILE_ROW(name, number, text) {(number), NULL, (text)},
static const row_t kCodes[] = {BM_CODES(CODE_ROW)};
static const row_t kFiles[] = {BM_FILES(FILE_ROW)};

// Returns the row with that number, or NULL.
static const row_t *find(const row_t *rows, size_t count, uint32_t number) {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].number == number) return &rows[i];
  }
  return NULL;
}

void bm_status_text(bm_text_t *text, bm_status_t status) {
  bm_text_string(text, "0x");
  bm_text_hex(text, status.bits, 8);
  bm_text_string(text, ": ");
  if (bm_status_is_ok(status)) {
    bm_text_string(text, "success");
    return;
  }
  const uint32_t number = bm_status_code(status);
  const row_t *code = find(kCodes, sizeof(kCodes) / sizeof(kCodes[0]), number);
  if (code != NULL) {
    bm_text_string(text, code->name);
  } else {
    bm_text_string(text, "code ");
    bm_text_u64(text, number);
  }
  bm_text_string(text, " (");
  bm_text_string(text, code != NULL ? code->text : "not in status.h");
  bm_text_string(text, ") at ");
  const row_t *file =
      find(kFiles, sizeof(kFiles) / sizeof(kFiles[0]), status.bits >> 24);
  if (file == NULL) {
    bm_text_string(text, "a file that status.h does not list");
    return;
  }
  bm_text_string(text, file->text);
  bm_text_string(text, ":");
  bm_text_u64(text, status.bits >> 12 & 0xFFFu);
}

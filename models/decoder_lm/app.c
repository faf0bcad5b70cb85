// Prints the text the model generates: one token per call of `decode`.
#include <stdint.h>

#include "runtime_bm/app/hooks.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/hal/hal.h"

// The number of tokens that safely fit on one printed line.
enum { TOKENS_PER_LINE = 64 };

static char said[TOKENS_PER_LINE + 1];
static uint32_t count;

static void say(void) {
  bm_text_t line;
  said[count] = '\0';
  bm_text_clear(&line);
  bm_text_string(&line, "The model goes on: ");
  bm_text_string(&line, said);
  bm_text_string(&line, "\n");
  bm_hal_console_write(line.bytes, line.size);
  count = 0;
}

void bm_app_begin(const char *name, const bm_model_t *model) {
  (void)name;
  (void)model;
  count = 0;
}

void bm_app_case(const char *name, const bm_model_t *model, uint32_t index) {
  bm_tensor_t token;
  uint64_t value;
  (void)name;
  (void)index;
  if (bm_model_output(model, 0, &token).bits != 0) return;
  memcpy(&value, token.data, sizeof(value));
  said[count++] = value >= ' ' && value <= '~' ? (char)value : ' ';
  if (count == TOKENS_PER_LINE) say();
}

void bm_app_end(const char *name) {
  (void)name;
  if (count != 0) say();
}

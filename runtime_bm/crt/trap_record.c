#include <stdbool.h>

#include "runtime_bm/base/result.h"
#include "runtime_bm/crt/trap.h"

const char *volatile bm_trap_model = NULL;
volatile uint32_t bm_trap_dispatch = BM_TRAP_NO_DISPATCH;
const char *(*volatile bm_trap_kernel_at)(uintptr_t pc) = NULL;

static void append_name(bm_text_t *text, const char *key, const char *name) {
  bm_text_string(text, key);
  bm_text_string(text, name == NULL ? "-" : name);
}

void bm_trap_record(bm_text_t *text, uint64_t cause, uint64_t epc,
                    uint64_t tval) {
  const bool running = bm_trap_dispatch != BM_TRAP_NO_DISPATCH;
  bm_text_string(text, BM_RESULT_PREFIX "TRAP cause=");
  bm_text_hex(text, cause, 1);
  bm_text_string(text, " epc=");
  bm_text_hex(text, epc, 1);
  bm_text_string(text, " tval=");
  bm_text_hex(text, tval, 1);
  append_name(text, " model=", bm_trap_model);
  bm_text_string(text, " dispatch=");
  if (running) {
    bm_text_u64(text, bm_trap_command());
  } else {
    bm_text_string(text, "-");
  }
  append_name(text, " kernel=",
              running && bm_trap_kernel_at != NULL
                  ? bm_trap_kernel_at((uintptr_t)epc)
                  : NULL);
#ifdef BM_SEVERAL_HARTS
  bm_text_string(text, " hart=");
  bm_text_u64(text, bm_hal_hart());
#endif
  bm_text_string(text, "\n");
}

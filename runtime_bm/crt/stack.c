#include "runtime_bm/crt/stack.h"

#include "runtime_bm/base/result.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/hal/hal.h"

#define BM_FILE BM_FILE_STACK

// Defined by the linker script, in ascending order.
extern const uintptr_t bm_stack_guard[];
extern const uintptr_t bm_stack_bottom[];
extern const uintptr_t bm_stack_top[];
extern const uintptr_t bm_data_start[];

// Defined and set by start.S.
extern const uintptr_t bm_stack_paint;
uint32_t bm_stack_guard_is_enforced;
const void *bm_boot_argument;

BM_NORETURN void bm_crt_exit(uint32_t status);

size_t bm_crt_stack_used(void) {
  // An enforced guard cannot even be read.
  const volatile uintptr_t *word =
      bm_stack_guard_is_enforced ? bm_stack_bottom : bm_stack_guard;
  while (word < bm_stack_top && *word == bm_stack_paint) ++word;
  return (size_t)((uintptr_t)bm_stack_top - (uintptr_t)word);
}

bool bm_crt_is_memory(uintptr_t address) {
  return address >= (uintptr_t)bm_data_start &&
         address < (uintptr_t)bm_stack_top;
}

bool bm_crt_is_stack_guard(uintptr_t address) {
  return address >= (uintptr_t)bm_stack_guard &&
         address < (uintptr_t)bm_stack_bottom;
}

// Startup goes here when main returns. An overrun that nothing prevented must
// not end as success, whatever main returned.
void bm_crt_exit(uint32_t status) {
  const size_t size = (uintptr_t)bm_stack_top - (uintptr_t)bm_stack_bottom;
  if (bm_crt_stack_used() > size) {
    bm_text_t text;
    bm_text_clear(&text);
    bm_text_string(&text, BM_RESULT_PREFIX "ERROR status=");
    bm_text_hex(&text, BM_ERROR(RESOURCE_EXHAUSTED).bits, 8);
    bm_text_string(&text,
                   " stack overflow: the guard below the stack was "
                   "overwritten; raise BM_STACK_BYTES in the board's "
                   "memory.ldh\n");
    bm_hal_console_write(text.bytes, text.size);
    status = BM_EXIT_ERROR;
  }
  bm_hal_exit(status);
}

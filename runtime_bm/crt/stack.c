#include "runtime_bm/crt/stack.h"

#include "runtime_bm/base/result.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/hal/hal.h"
#include "runtime_bm/harts/harts.h"

#define BM_FILE BM_FILE_STACK

// Defined by the linker script, in ascending order.
extern const uintptr_t bm_stack_guard[];
extern const uintptr_t bm_stack_bottom[];
extern const uintptr_t bm_stack_top[];
extern const uintptr_t bm_stacks_end[];
extern const uintptr_t bm_data_start[];
#ifdef BM_SEVERAL_HARTS
// Bytes from one hart's stack to the next one's.
extern const uint32_t bm_stack_stride;
#endif

// Defined and set by start.S.
extern const uintptr_t bm_stack_paint;
uint32_t bm_stack_guard_is_enforced;
const void *bm_boot_argument;

BM_NORETURN void bm_crt_exit(uint32_t status);

// The same place in the stack of another hart.
static uintptr_t of_hart(const uintptr_t *place, uint32_t hart) {
#ifdef BM_SEVERAL_HARTS
  if (hart != 0) return (uintptr_t)place + hart * bm_stack_stride;
#else
  (void)hart;
#endif
  return (uintptr_t)place;
}

static size_t used_by(uint32_t hart) {
  // An enforced guard cannot even be read.
  const uintptr_t *start =
      bm_stack_guard_is_enforced ? bm_stack_bottom : bm_stack_guard;
  const uintptr_t top = of_hart(bm_stack_top, hart);
  const volatile uintptr_t *word = (uintptr_t *)of_hart(start, hart);
  while ((uintptr_t)word < top && *word == bm_stack_paint) ++word;
  return (size_t)(top - (uintptr_t)word);
}

size_t bm_crt_stack_used(void) {
  size_t most = used_by(0);
  for (uint32_t hart = 1; hart < bm_hart_count; ++hart) {
    const size_t used = used_by(hart);
    if (used > most) most = used;
  }
  return most;
}

bool bm_crt_is_memory(uintptr_t address) {
  return address >= (uintptr_t)bm_data_start &&
         address < (uintptr_t)bm_stacks_end;
}

static bool is_guard_of(uint32_t hart, uintptr_t address) {
  return address >= of_hart(bm_stack_guard, hart) &&
         address < of_hart(bm_stack_bottom, hart);
}

bool bm_crt_is_stack_guard(uintptr_t address) {
  bool found = is_guard_of(0, address);
  for (uint32_t hart = 1; hart < bm_hart_count; ++hart) {
    found |= is_guard_of(hart, address);
  }
  return found;
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
                   "overwritten; raise the board's stack_bytes, or "
                   "BM_STACK_BYTES in a memory.ldh of its own\n");
    bm_hal_console_write(text.bytes, text.size);
    status = BM_EXIT_ERROR;
  }
  bm_hal_exit(status);
}

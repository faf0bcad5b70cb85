// Reports an exception in the console protocol and ends the program.
#include "runtime_bm/crt/trap.h"

#include "runtime_bm/base/result.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/hal.h"

BM_NORETURN void bm_trap(uintptr_t cause, uintptr_t epc, uintptr_t tval);

static const char *explain(uintptr_t cause, uintptr_t tval) {
  if (bm_crt_is_stack_guard(tval)) {
    return "stack overflow: the guard below the stack was touched; raise "
           "the board's stack_bytes, or BM_STACK_BYTES in a memory.ldh of its "
           "own\n";
  }
  switch (cause) {
    case 2:
      return "illegal instruction: the code needs an ISA extension this hart "
             "lacks, or it ran into data\n";
    case 5:
    case 7:
      if (bm_crt_is_memory(tval)) {
        return "access fault: this machine has less memory than the board's "
               "memory.ldh says and the image uses; give it more or build for "
               "another board\n";
      }
      return "access fault: there is no memory at that address\n";
    default:
      return "";
  }
}

void bm_trap(uintptr_t cause, uintptr_t epc, uintptr_t tval) {
  bm_text_t text;
  bm_text_clear(&text);
  // The trap may have come in the middle of a line.
  bm_text_string(&text, "\n");
  bm_trap_record(&text, cause, epc, tval);
  bm_text_string(&text, explain(cause, tval));
  bm_hal_console_write(text.bytes, text.size);
  bm_hal_exit(BM_EXIT_TRAP);
}

#include "runtime_bm/app/machine.h"

#include <stdbool.h>

#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/plan/plan_verify.h"

#define BM_FILE BM_FILE_MACHINE

static BM_NOINLINE int fail_cpu(bm_status_t status, const bm_plan_t *plan,
                                const bm_hal_cpu_t *cpu) {
  bm_text_t line;
  bm_console_error(&line, status);
  bm_text_string(&line, "the kernels are built for ");
  bm_text_string(&line, bm_firmware_isa);
  if (plan->header->vlen_bits != 0) {
    bm_console_field(&line, " (VLEN >= ", plan->header->vlen_bits);
    bm_text_string(&line, ")");
  }
  bm_text_string(&line, " and this hart is ");
  bm_text_string(&line, cpu->isa);
  bm_console_field(&line, " with VLEN ", cpu->vlen_bits);
  bm_text_string(&line, ": use another hart or build the model for this one");
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

// True if a hart with the extensions of `isa` (letters after the width; none if
// it does not state them) has all those of `wanted`, such as "rv64gcv_zvl256b".
static bool has_extensions(const char *isa, const char *wanted) {
  enum { WIDTH = 4 };  // "rv64"
  if (wanted[0] != 'r' || isa[0] != 'r' || isa[WIDTH] == '\0') return true;
  for (const char *c = wanted + WIDTH; *c != '\0' && *c != '_'; ++c) {
    // G stands for these; misa has no letter for its other extensions.
    for (const char *l = *c == 'g' ? "imafd" : (const char[]){*c, '\0'};
         *l != '\0'; ++l) {
      const char *have = isa + WIDTH;
      while (*have != '\0' && *have != '_' && *have != *l) ++have;
      if (*have != *l) return false;
    }
  }
  return true;
}

static BM_NOINLINE int fail_timebase(const bm_hal_cpu_t *cpu) {
  bm_text_t line;
  bm_console_error(&line, BM_ERROR(FAILED_PRECONDITION));
  bm_text_string(&line, "the image is built for board ");
  bm_text_string(&line, bm_firmware_board);
  bm_console_field(&line, ", whose timer ticks at ", cpu->board_timebase_hz);
  bm_console_field(&line, " Hz, and this machine's at ", cpu->timebase_hz);
  bm_text_string(&line, " Hz: build it for the board it runs on");
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

int bm_machine_check(const bm_hal_cpu_t *cpu) {
  for (uint32_t i = 0; i < bm_firmware_model_count; ++i) {
    const bm_plan_t *plan = bm_firmware_models[i].plan;
    bm_status_t status = bm_plan_check_cpu(plan, cpu->isa_bits, cpu->vlen_bits);
    if (!has_extensions(cpu->isa, bm_firmware_isa)) {
      status = BM_ERROR(FAILED_PRECONDITION);
    }
    if (status.bits != 0) return fail_cpu(status, plan, cpu);
  }
  if (cpu->timebase_hz != 0 && cpu->board_timebase_hz != 0 &&
      cpu->timebase_hz != cpu->board_timebase_hz) {
    return fail_timebase(cpu);
  }
  return 0;
}

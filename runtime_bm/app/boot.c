#include "runtime_bm/app/boot.h"

#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/app/machine.h"
#include "runtime_bm/crt/image.h"
#include "runtime_bm/harts/harts.h"

static BM_NOINLINE void report_boot(const bm_hal_cpu_t *cpu) {
  bm_text_t line;
  bm_console_record(&line, "BOOT isa=");
  bm_text_string(&line, bm_firmware_isa);
  bm_console_field(&line, " vlen=", cpu->vlen_bits);
  bm_text_string(&line, " board=");
  bm_text_string(&line, bm_firmware_board);
  bm_console_write(&line);
}

#ifdef BM_UNSEALED
// Nothing made checks for the bytes of this image.
static int verify_image(void) { return 0; }
#else
static BM_NOINLINE int fail_verify(bm_status_t status, const char *owner,
                                   const char *part) {
  bm_text_t line;
  bm_console_error(&line, status);
  bm_text_string(&line, owner);
  bm_text_string(&line, ": its ");
  bm_text_string(&line, part);
  bm_text_string(&line,
                 bm_status_code(status) == BM_CODE_DAMAGED
                     ? " were damaged after they were built: load the image "
                       "again; if it says so again, the memory is at fault"
                     : " have no checks: tools/seal makes them after linking");
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

// Compares every byte that stays as it was built with the checks of the build.
// Returns 0 or the exit status. Models come first, for they are in the image's
// constants too, and the first record should name what is damaged.
static BM_NOINLINE int verify_image(void) {
  static const char *const kModelParts[] = {
      [BM_PART_PLAN] = "tables",
      [BM_PART_KERNELS] = "kernels",
      [BM_PART_WEIGHTS] = "weights",
  };
  static const char *const kImageParts[] = {
      [BM_IMAGE_CODE] = "instructions",
      [BM_IMAGE_CONSTANTS] = "constants",
      [BM_IMAGE_DATA] = "initial values",
  };
  bm_verify_t at = {0};
  for (uint32_t i = 0; i < bm_firmware_model_count; ++i) {
    const bm_firmware_model_t *entry = &bm_firmware_models[i];
    // Only a plan that bmc wrote has checks.
    if (entry->plan->checks == NULL) continue;
    for (at = (bm_verify_t){0}; at.part != BM_PART_COUNT;) {
      const bm_status_t status = bm_model_verify(entry->plan, SIZE_MAX, &at);
      if (status.bits != 0) {
        return fail_verify(status, entry->name, kModelParts[at.part]);
      }
    }
  }
  at = (bm_verify_t){0};
  const bm_status_t status = bm_firmware_verify(&at);
  if (status.bits != 0) {
    return fail_verify(status, "the image", kImageParts[at.part]);
  }
  return 0;
}
#endif

static BM_NOINLINE int fail_harts(bm_status_t status) {
  uint32_t missing = 1;
  while (((bm_harts_present() >> missing) & 1) != 0) ++missing;
  bm_text_t line;
  bm_console_error(&line, status);
  bm_console_field(&line, "hart ", missing);
  bm_console_field(&line, " of 0 to ", bm_hart_count - 1);
  bm_console_field(&line, " did not start: give the machine ", bm_hart_count);
  bm_text_string(&line, " harts, or build the image for fewer with `harts`");
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

int bm_boot(void) {
  bm_hal_init();
  const bm_hal_cpu_t cpu = bm_harts_cpu();
  report_boot(&cpu);
  const int damaged = verify_image();
  if (damaged != 0) return damaged;
  const bm_status_t status = bm_harts_start();
  if (status.bits != 0) return fail_harts(status);
  return bm_machine_check(&cpu);
}

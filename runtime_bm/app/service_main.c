// The main of service firmware (service.h). It ends only with the machine.
#include "runtime_bm/app/boot.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/models.h"
#include "runtime_bm/app/service.h"
#include "runtime_bm/hal/application.h"

int main(void) {
  static bm_service_t service;
  const int unfit = bm_boot();
  if (unfit != 0) return unfit;
  bm_text_t line;
  bm_console_record(&line, "SERVICE");
  bm_console_field(&line, " models=", bm_firmware_model_count);
  bm_console_write(&line);
  for (;;) {
    const int32_t byte = bm_hal_console_read();
    if (byte < 0 || !bm_service_take(&service, (uint8_t)byte)) continue;
    bm_hal_console_write((const char *)service.answer.bytes,
                         bm_frame_bytes(&service.answer));
  }
}

// The main of a conversation with the image's first model (chat.h).
#include "runtime_bm/app/boot.h"
#include "runtime_bm/app/chat.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/models.h"

static int fail(bm_status_t status) {
  bm_text_t line;
  bm_console_error(&line, status);
  bm_text_string(&line, "the conversation ended: ");
  bm_status_text(&line, status);
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}

int main(void) {
  static bm_model_t model;
  const int unfit = bm_boot();
  if (unfit != 0) return unfit;
  const bm_status_t opened = bm_firmware_init(&bm_firmware_models[0], &model);
  if (opened.bits != 0) return fail(opened);
  const bm_status_t status = bm_chat(&model, &bm_chat_settings);
  return status.bits == 0 ? 0 : fail(status);
}

#include "runtime_bm/app/models.h"

#include <stdbool.h>

#include "runtime_bm/crt/image.h"

static bool same(const char *a, const char *b) {
  for (; *a != '\0' && *a == *b; ++a) ++b;
  return *a == *b;
}

const bm_firmware_model_t *bm_firmware_find(const char *name) {
  for (uint32_t i = 0; i < bm_firmware_model_count; ++i) {
    if (same(bm_firmware_models[i].name, name)) return &bm_firmware_models[i];
  }
  return NULL;
}

bm_status_t bm_firmware_verify(bm_verify_t *at) {
  while (at->part != bm_image_check_count) {
    BM_TRY(bm_check_step(bm_image_checks, SIZE_MAX, at));
  }
  return bm_ok();
}

bm_status_t bm_firmware_init(const bm_firmware_model_t *entry,
                             bm_model_t *out_model) {
  return bm_model_init(out_model, entry->plan, bm_firmware_arena, entry->code);
}

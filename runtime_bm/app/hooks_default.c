#include "runtime_bm/app/hooks.h"

void bm_app_begin(const bm_model_t *model) { (void)model; }

void bm_app_case(const bm_model_t *model, uint32_t case_index) {
  (void)model;
  (void)case_index;
}

void bm_app_end(void) {}

#include "runtime_bm/app/hooks.h"

void bm_app_begin(const char *name, const bm_model_t *model) {
  (void)name;
  (void)model;
}

void bm_app_case(const char *name, const bm_model_t *model,
                 uint32_t case_index) {
  (void)name;
  (void)model;
  (void)case_index;
}

void bm_app_end(const char *name) { (void)name; }

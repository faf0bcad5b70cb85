// Hooks for what a model's own firmware prints between the records of the
// console protocol, such as a ranking or a decoded sentence. Firmware links
// exactly one implementation; //runtime_bm/app:hooks_default does nothing.
// `name` is the model's name in bm_firmware_models.
#ifndef RUNTIME_BM_APP_HOOKS_H_
#define RUNTIME_BM_APP_HOOKS_H_

#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

// Before the model's first case; the model is initialized.
void bm_app_begin(const char *name, const bm_model_t *model);

// After a case ran and was checked; the outputs are still in the arena.
void bm_app_case(const char *name, const bm_model_t *model,
                 uint32_t case_index);

// After the model's last case.
void bm_app_end(const char *name);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_HOOKS_H_

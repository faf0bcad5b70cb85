// What a model's own firmware may print between the records of the console
// protocol: a ranking, a decoded sentence. A firmware links exactly one
// implementation; //runtime_bm/app:hooks_default does nothing.
#ifndef RUNTIME_BM_APP_HOOKS_H_
#define RUNTIME_BM_APP_HOOKS_H_

#include <stdint.h>

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

// Before the first case; the model is initialised.
void bm_app_begin(const bm_model_t *model);

// After a case ran and was checked; the outputs are still in the arena.
void bm_app_case(const bm_model_t *model, uint32_t case_index);

// After the last case, before the final record.
void bm_app_end(void);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_HOOKS_H_

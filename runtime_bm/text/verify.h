// The check of a tokenizer's tables, after which everything else relies on
// them.
#ifndef RUNTIME_BM_TEXT_VERIFY_H_
#define RUNTIME_BM_TEXT_VERIFY_H_

#include "runtime_bm/base/status.h"
#include "runtime_bm/text/tables.h"

BM_EXTERN_C_BEGIN

// Errors: DATA_LOSS when an index leads outside of its table, or an order that
// lookups rely on is none.
BM_MUST_USE bm_status_t
bm_tokenizer_verify(const bm_tokenizer_tables_t *tables);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_VERIFY_H_

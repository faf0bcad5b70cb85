// Splits a text by the patterns of a pre-tokenizer.
#ifndef RUNTIME_BM_TEXT_SPLIT_H_
#define RUNTIME_BM_TEXT_SPLIT_H_

#include <stdbool.h>
#include <stddef.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/text/tables.h"

BM_EXTERN_C_BEGIN

// What one stage has left of its text.
typedef struct bm_split_level_t {
  size_t at;
  size_t end;
  // A match that comes behind the piece that was returned last, if it is not
  // empty.
  size_t match_begin;
  size_t match_end;
} bm_split_level_t;

typedef struct bm_splitter_t {
  const bm_split_t *tables;
  const uint8_t *text;
  uint32_t depth;
  bm_split_level_t levels[BM_SPLIT_STAGES + 1];
} bm_splitter_t;

// Prepares for a text, which is valid UTF-8.
void bm_split_begin(bm_splitter_t *splitter, const bm_split_t *tables,
                    bm_cspan_t text);

// Finds the next piece, which is not empty. Returns false behind the last one.
bool bm_split_next(bm_splitter_t *splitter, bm_cspan_t *out_piece);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_SPLIT_H_

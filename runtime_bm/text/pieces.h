// Models of tokenizers: the tokens of one piece of a text.
#ifndef RUNTIME_BM_TEXT_PIECES_H_
#define RUNTIME_BM_TEXT_PIECES_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/text/tables.h"

BM_EXTERN_C_BEGIN

// Tokens that are being written.
typedef struct bm_token_list_t {
  uint32_t *ids;
  size_t count;
  size_t capacity;
} bm_token_list_t;

// Appends a token. Error: RESOURCE_EXHAUSTED.
BM_MUST_USE bm_status_t bm_token_list_put(bm_token_list_t *list, uint32_t id);

// The memory that a model needs for each byte of a piece, 8-byte aligned.
enum { BM_PIECE_BYTES = 24 };

// Each appends the tokens of a piece. `room` has BM_PIECE_BYTES for each byte
// of it. Error: RESOURCE_EXHAUSTED.
BM_MUST_USE bm_status_t bm_piece_bpe(const bm_tokenizer_tables_t *tables,
                                     bm_cspan_t piece, void *room,
                                     bm_token_list_t *list);
BM_MUST_USE bm_status_t bm_piece_wordpiece(const bm_tokenizer_tables_t *tables,
                                           bm_cspan_t piece,
                                           bm_token_list_t *list);
BM_MUST_USE bm_status_t bm_piece_unigram(const bm_tokenizer_tables_t *tables,
                                         bm_cspan_t piece, void *room,
                                         bm_token_list_t *list);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_PIECES_H_

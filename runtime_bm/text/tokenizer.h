// Text to tokens and back, with the tables that bmc made of a tokenizer.
//
//   static _Alignas(8) uint8_t scratch[BM_TOKENIZER_SCRATCH_BYTES(1000)];
//   bm_tokenizer_t tokenizer;
//   bm_tokenizer_init(&tokenizer, &words_tokenizer, span_of(scratch));
//   bm_tokenizer_encode(&tokenizer, text, size, 0, ids, capacity, &count);
//
// What comes out is what the package `tokenizers` gives. No heap, no recursion;
// time is n log n in the bytes of a text, times the log of the vocabulary.
#ifndef RUNTIME_BM_TEXT_TOKENIZER_H_
#define RUNTIME_BM_TEXT_TOKENIZER_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/text/tables.h"

BM_EXTERN_C_BEGIN

// The scratch memory for texts that have up to `bytes` bytes once they are
// normalized: three copies, and what a model needs for one piece.
#define BM_TOKENIZER_SCRATCH_BYTES(bytes) (((bytes) + 8) * 27)

enum {
  // Tokens that surround a whole text, as [CLS] and [SEP], are added.
  BM_ENCODE_SURROUNDED = 1,
  // Special tokens in the text are text as any other: somebody typed it.
  BM_ENCODE_PLAIN = 2,
};

// A part of a text.
typedef struct bm_range_t {
  size_t begin;
  size_t end;
} bm_range_t;

typedef struct bm_tokenizer_t {
  const bm_tokenizer_tables_t *tables;
  bm_span_t scratch;
} bm_tokenizer_t;

// Checks all of the tables, which must outlive the tokenizer, as `scratch`
// must. Errors: DATA_LOSS when a table is malformed; INVALID_ARGUMENT when
// `scratch` is not 8-byte aligned.
BM_MUST_USE bm_status_t bm_tokenizer_init(bm_tokenizer_t *out_tokenizer,
                                          const bm_tokenizer_tables_t *tables,
                                          bm_span_t scratch);

// Writes the tokens of a text to `ids`, which has room for `capacity` of them.
// Errors: INVALID_ARGUMENT when the text is not UTF-8; RESOURCE_EXHAUSTED when
// it is too long for `ids` or for the scratch memory.
BM_MUST_USE bm_status_t bm_tokenizer_encode(const bm_tokenizer_t *tokenizer,
                                            const char *text, size_t size,
                                            uint32_t flags, uint32_t *ids,
                                            size_t capacity, size_t *out_count);

// The same of a text of which somebody typed a part, where special tokens are
// text as any other.
BM_MUST_USE bm_status_t bm_tokenizer_encode_typed(
    const bm_tokenizer_t *tokenizer, const char *text, size_t size,
    bm_range_t typed, uint32_t *ids, size_t capacity, size_t *out_count);

// Text of tokens, one by one. A character that is split over tokens comes with
// the last of them; what is no character is U+FFFD.
typedef struct bm_decoder_t {
  const bm_tokenizer_tables_t *tables;
  uint32_t pending_size;
  uint8_t pending[4];
  uint8_t is_begun;
} bm_decoder_t;

// The room that the text of one token needs.
#define BM_DECODER_BYTES(longest) (3 * ((longest) + 4))

// Error: UNIMPLEMENTED when words would have to be joined by rules of grammar,
// as for WordPiece.
BM_MUST_USE bm_status_t bm_decoder_init(bm_decoder_t *out_decoder,
                                        const bm_tokenizer_t *tokenizer);

// Writes the text that ends with this token; that of a special one is empty.
// Errors: INVALID_ARGUMENT when there is no such token; RESOURCE_EXHAUSTED when
// `capacity` is less than BM_DECODER_BYTES of the longest token.
BM_MUST_USE bm_status_t bm_decoder_take(bm_decoder_t *decoder, uint32_t id,
                                        char *text, size_t capacity,
                                        size_t *out_size);

// Writes what is left of a character that never was completed. Error:
// RESOURCE_EXHAUSTED.
BM_MUST_USE bm_status_t bm_decoder_end(bm_decoder_t *decoder, char *text,
                                       size_t capacity, size_t *out_size);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_TOKENIZER_H_

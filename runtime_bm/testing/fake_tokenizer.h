// A tokenizer of five letters, for tests: lower case, spaces in front of words,
// two merges, an added token `<e>`.
#ifndef RUNTIME_BM_TESTING_FAKE_TOKENIZER_H_
#define RUNTIME_BM_TESTING_FAKE_TOKENIZER_H_

#include "runtime_bm/text/tables.h"

// Tokens: a, b, c, space, 0xC3, 0xA4, ab, abc, <e>, <s>.
enum {
  FAKE_A,
  FAKE_B,
  FAKE_C,
  FAKE_SPACE,
  FAKE_C3,
  FAKE_A4,
  FAKE_AB,
  FAKE_ABC,
  FAKE_E,
  FAKE_S,
  FAKE_TOKENS,
  // Bytes of the longest token.
  FAKE_LONGEST = 3,
};

// All numbers of the tables, which a test may change: each is a byte.
enum { FAKE_TOKENIZER_BYTES = 4096 };
typedef struct fake_tokenizer_t {
  uint8_t bytes[FAKE_TOKENIZER_BYTES];
  uint32_t size;
  bm_split_item_t items[3];
  bm_split_alternative_t alternatives[2];
  bm_split_stage_t stages[1];
  bm_normalizer_t normalizers[3];
  bm_tokenizer_tables_t tables;
} fake_tokenizer_t;

// Makes the tables of `kind`, a bm_tokenizer_kind_t.
void fake_tokenizer_make(fake_tokenizer_t *fake, uint32_t kind);

#endif  // RUNTIME_BM_TESTING_FAKE_TOKENIZER_H_

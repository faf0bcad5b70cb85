// The tables of a tokenizer, which bmc writes: constants without pointers to
// one another but those of this header. bm_tokenizer_init checks them once.
#ifndef RUNTIME_BM_TEXT_TABLES_H_
#define RUNTIME_BM_TEXT_TABLES_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// No token, no change, no rank.
#define BM_NONE UINT32_MAX

// Unsigned integers, each in as few bytes as the largest needs.
typedef struct bm_numbers_t {
  const uint8_t *bytes;
  uint32_t count;
  uint32_t width;  // bytes of a number, 1 to 4; the lowest comes first
} bm_numbers_t;

static inline uint32_t bm_numbers_at(const bm_numbers_t *numbers,
                                     uint32_t index) {
  const uint8_t *at = numbers->bytes + (size_t)index * numbers->width;
  uint32_t value = 0;
  for (uint32_t i = numbers->width; i != 0; --i) value = value << 8 | at[i - 1];
  return value;
}

// Strings one behind the other; string i ends at ends[i].
typedef struct bm_strings_t {
  bm_numbers_t ends;
  const uint8_t *bytes;
  uint32_t size;
} bm_strings_t;

// Strings that are looked up: `order` has the numbers of some of them, in the
// order of their bytes.
typedef struct bm_sorted_t {
  bm_strings_t strings;
  bm_numbers_t order;
} bm_sorted_t;

// A number for each Unicode code point, in blocks. What lies behind the last
// block is like its end.
enum { BM_CODE_POINT_BLOCK = 128 };
typedef struct bm_code_points_t {
  bm_numbers_t blocks;
  bm_numbers_t values;
} bm_code_points_t;

static inline uint32_t bm_code_points_at(const bm_code_points_t *table,
                                         uint32_t code_point) {
  uint32_t block = code_point / BM_CODE_POINT_BLOCK;
  if (block >= table->blocks.count) block = table->blocks.count - 1;
  return bm_numbers_at(&table->values, bm_numbers_at(&table->blocks, block) *
                                               BM_CODE_POINT_BLOCK +
                                           code_point % BM_CODE_POINT_BLOCK);
}

// One step of a normalization.
typedef enum bm_normalizer_kind_t {
  // A code point with the value k > 0 becomes texts[k - 1], in which U+0000
  // stands for it.
  BM_NORMALIZER_MAP = 0,
  // Marks, whose value is their class, are put in the canonical order.
  BM_NORMALIZER_ORDER = 1,
  // In that order, pairs become one: `pairs` has first, second and composed,
  // ascending by the first two. Hangul is computed.
  BM_NORMALIZER_COMPOSE = 2,
  // texts[0] becomes texts[1] wherever it is.
  BM_NORMALIZER_REPLACE = 3,
  // texts[0] comes before what does not begin with texts[1] (if that is not
  // empty).
  BM_NORMALIZER_PREPEND = 4,
  // Code points with a value go at both ends.
  BM_NORMALIZER_STRIP = 5,
  BM_NORMALIZER_COUNT = 6,
} bm_normalizer_kind_t;

enum {
  // MAP takes Hangul syllables apart.
  BM_NORMALIZER_HANGUL = 1,
  // PREPEND only at the beginning of the whole text.
  BM_NORMALIZER_FIRST = 2,
  // STRIP at the left, at the right.
  BM_NORMALIZER_LEFT = 4,
  BM_NORMALIZER_RIGHT = 8,
};

typedef struct bm_normalizer_t {
  uint32_t kind;   // bm_normalizer_kind_t
  uint32_t flags;  // BM_NORMALIZER_HANGUL and the others
  bm_code_points_t code_points;
  bm_strings_t texts;
  bm_numbers_t pairs;
} bm_normalizer_t;

typedef struct bm_normalizers_t {
  const bm_normalizer_t *steps;
  uint32_t count;
} bm_normalizers_t;

// A text is split by patterns, one after the other. A pattern is alternatives,
// of which the first that matches counts; an alternative is items, of which
// each takes as many characters as it can while the rest still matches.
enum { BM_SPLIT_STAGES = 8, BM_SPLIT_ITEMS = 6, BM_SPLIT_UNBOUNDED = 0xFFFF };

typedef struct bm_split_item_t {
  uint32_t classes;  // bits of the classes that it takes
  uint16_t least;
  uint16_t most;
} bm_split_item_t;

typedef struct bm_split_alternative_t {
  uint16_t first_item;
  uint16_t item_count;
  uint32_t not_before;  // classes of which no character may follow
} bm_split_alternative_t;

enum { BM_SPLIT_KEEP_MATCHES = 1, BM_SPLIT_KEEP_GAPS = 2 };

typedef struct bm_split_stage_t {
  uint16_t first_alternative;
  uint16_t alternative_count;
  uint32_t flags;  // BM_SPLIT_KEEP_MATCHES and the other
} bm_split_stage_t;

typedef struct bm_split_t {
  bm_code_points_t classes;  // below 32
  const bm_split_item_t *items;
  const bm_split_alternative_t *alternatives;
  const bm_split_stage_t *stages;
  uint32_t item_count;
  uint32_t alternative_count;
  uint32_t stage_count;
} bm_split_t;

// Tokens that are found in a text before it is split.
enum {
  BM_ADDED_SPECIAL = 1,
  // Whitespace before it, or behind it, is part of it.
  BM_ADDED_LEFT = 2,
  BM_ADDED_RIGHT = 4,
};
typedef struct bm_added_t {
  bm_sorted_t texts;
  bm_numbers_t ids;    // by the number of the text
  bm_numbers_t flags;  // BM_ADDED_SPECIAL and the others
} bm_added_t;

typedef enum bm_tokenizer_kind_t {
  BM_TOKENIZER_BPE = 0,
  BM_TOKENIZER_WORDPIECE = 1,
  BM_TOKENIZER_UNIGRAM = 2,
  BM_TOKENIZER_COUNT = 3,
} bm_tokenizer_kind_t;

enum {
  // Pieces are bytes, and not characters.
  BM_TOKENIZER_BYTES = 1,
  // A piece that is a token stays whole.
  BM_TOKENIZER_WHOLE = 2,
  // Unknown characters that follow one another are one token.
  BM_TOKENIZER_FUSE = 4,
  // Decoding makes spaces of U+2581, and leaves out the first one, or all of
  // the first token's.
  BM_TOKENIZER_MARKS = 8,
  BM_TOKENIZER_DROP_MARK = 16,
  BM_TOKENIZER_DROP_MARKS = 32,
  // Tokens are not joined without spaces, so nothing is decoded.
  BM_TOKENIZER_NO_DECODER = 64,
};

typedef struct bm_tokenizer_tables_t {
  uint32_t kind;          // bm_tokenizer_kind_t
  uint32_t flags;         // BM_TOKENIZER_BYTES and the others
  uint32_t unknown;       // token, or BM_NONE
  uint32_t longest;       // bytes of the longest token
  bm_sorted_t tokens;     // by id; in order are those that are looked up
  bm_numbers_t specials;  // ascending ids of those that decoding leaves out
  // BPE: the token of each byte (256, or none of them), vocabulary size for
  // none; merges by their left token (merge_ends[left] is the end of its own,
  // ascending by the right one); what a merge makes, by its rank.
  bm_numbers_t byte_tokens;
  bm_numbers_t merge_ends;
  bm_numbers_t merge_rights;
  bm_numbers_t merge_ranks;
  bm_numbers_t merge_results;
  // WordPiece: what continuing tokens begin with, and the most characters of a
  // word.
  bm_strings_t continuing;
  uint32_t longest_word;
  // Unigram: a token's score, and that of an unknown character.
  const double *scores;
  double unknown_score;
  // What is done to a text, and to what is between its tokens.
  bm_added_t added;
  bm_normalizers_t normalizers;
  bm_added_t added_normalized;
  bm_normalizers_t segment_normalizers;
  bm_code_points_t whitespace;
  bm_split_t split;
  // Tokens that surround a whole text.
  bm_numbers_t prefix;
  bm_numbers_t suffix;
} bm_tokenizer_tables_t;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_TABLES_H_

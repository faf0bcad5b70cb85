#include "runtime_bm/text/tokenizer.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/text/normalize.h"
#include "runtime_bm/text/pieces.h"
#include "runtime_bm/text/split.h"
#include "runtime_bm/text/strings.h"
#include "runtime_bm/text/utf8.h"
#include "runtime_bm/text/verify.h"

#define BM_FILE BM_FILE_TOKENIZER

// A text on its way to tokens.
typedef struct encoder_t {
  const bm_tokenizer_tables_t *tables;
  uint32_t flags;
  void *room;  // of the model
  bm_bytes_t text;
  bm_bytes_t segment;
  bm_bytes_t other;
  bm_token_list_t list;
} encoder_t;

// A token in a text, and what it takes of it.
typedef struct match_t {
  uint32_t id;  // BM_NONE: there is none
  size_t begin;
  size_t end;
} match_t;

bm_status_t bm_tokenizer_init(bm_tokenizer_t *out_tokenizer,
                              const bm_tokenizer_tables_t *tables,
                              bm_span_t scratch) {
  BM_CHECK((uintptr_t)scratch.data % sizeof(double) == 0, INVALID_ARGUMENT);
  BM_TRY(bm_tokenizer_verify(tables));
  out_tokenizer->tables = tables;
  out_tokenizer->scratch = scratch;
  return bm_ok();
}

static bool is_whitespace(const encoder_t *encoder, uint32_t code_point) {
  return bm_code_points_at(&encoder->tables->whitespace, code_point) != 0;
}

// Returns the longest added token that begins at `at`, or BM_NONE, and its
// number among them.
static uint32_t added_at(const bm_added_t *added, bm_cspan_t text, size_t at,
                         size_t *out_end) {
  uint32_t number = BM_NONE;
  bm_lookup_t lookup = bm_lookup_begin(&added->texts);
  for (size_t end = at; end < text.size;) {
    if (!bm_lookup_take(&added->texts, &lookup, text.data[end])) break;
    ++end;
    const uint32_t found = bm_lookup_found(&added->texts, &lookup);
    if (found == BM_NONE) continue;
    number = found;
    *out_end = end;
  }
  return number;
}

// Finds the next added token in what follows `from`. Special ones that have a
// byte in `typed` are text as any other.
static match_t find_added(const encoder_t *encoder, const bm_added_t *added,
                          bm_cspan_t text, bm_range_t typed, size_t from) {
  for (size_t at = from; at < text.size; at += bm_utf8_size(text.data[at])) {
    match_t match = {BM_NONE, at, at};
    const uint32_t number = added_at(added, text, at, &match.end);
    if (number == BM_NONE) continue;
    const uint32_t flags = bm_numbers_at(&added->flags, number);
    const bool is_typed = match.end > typed.begin && at < typed.end;
    if (is_typed && (flags & BM_ADDED_SPECIAL) != 0) {
      // Its characters are no other token's either.
      at = bm_utf8_before(text.data, match.end);
      continue;
    }
    match.id = bm_numbers_at(&added->ids, number);
    while ((flags & BM_ADDED_LEFT) != 0 && match.begin > from) {
      const size_t before = bm_utf8_before(text.data, match.begin);
      size_t end = before;
      if (!is_whitespace(encoder, bm_utf8_next(text.data, &end))) break;
      match.begin = before;
    }
    while ((flags & BM_ADDED_RIGHT) != 0 && match.end < text.size) {
      size_t end = match.end;
      if (!is_whitespace(encoder, bm_utf8_next(text.data, &end))) break;
      match.end = end;
    }
    return match;
  }
  const match_t none = {BM_NONE, text.size, text.size};
  return none;
}

static bm_status_t encode_piece(encoder_t *encoder, bm_cspan_t piece) {
  switch (encoder->tables->kind) {
    case BM_TOKENIZER_BPE:
      return bm_piece_bpe(encoder->tables, piece, encoder->room,
                          &encoder->list);
    case BM_TOKENIZER_WORDPIECE:
      return bm_piece_wordpiece(encoder->tables, piece, &encoder->list);
    default:
      return bm_piece_unigram(encoder->tables, piece, encoder->room,
                              &encoder->list);
  }
}

// Splits what has no added tokens in it, and encodes its pieces.
static bm_status_t encode_segment(encoder_t *encoder, bm_cspan_t segment,
                                  bool is_first) {
  encoder->segment.size = 0;
  BM_TRY(bm_bytes_put(&encoder->segment, segment));
  BM_TRY(bm_normalize(&encoder->tables->segment_normalizers, &is_first,
                      &encoder->segment, &encoder->other));
  const bm_cspan_t text = {encoder->segment.data, encoder->segment.size};
  bm_splitter_t splitter;
  bm_split_begin(&splitter, &encoder->tables->split, text);
  bm_cspan_t piece;
  while (bm_split_next(&splitter, &piece)) BM_TRY(encode_piece(encoder, piece));
  return bm_ok();
}

// Normalizes a part of the text, and encodes it.
static bm_status_t encode_part(encoder_t *encoder, bm_cspan_t part,
                               bool has_typed, bool is_first) {
  encoder->text.size = 0;
  BM_TRY(bm_bytes_put(&encoder->text, part));
  BM_TRY(bm_normalize(&encoder->tables->normalizers, &is_first, &encoder->text,
                      &encoder->other));
  const bm_cspan_t text = {encoder->text.data, encoder->text.size};
  // Nobody knows any more which of these bytes somebody typed.
  const bm_range_t typed = {0, has_typed ? text.size : 0};
  for (size_t at = 0; at < text.size;) {
    const match_t match = find_added(
        encoder, &encoder->tables->added_normalized, text, typed, at);
    const bm_cspan_t before = {text.data + at, match.begin - at};
    BM_TRY(encode_segment(encoder, before, is_first && at == 0));
    if (match.id != BM_NONE) {
      BM_TRY(bm_token_list_put(&encoder->list, match.id));
    }
    at = match.end;
  }
  return bm_ok();
}

static bm_status_t put_all(encoder_t *encoder, const bm_numbers_t *ids) {
  if ((encoder->flags & BM_ENCODE_SURROUNDED) == 0) return bm_ok();
  for (uint32_t i = 0; i < ids->count; ++i) {
    BM_TRY(bm_token_list_put(&encoder->list, bm_numbers_at(ids, i)));
  }
  return bm_ok();
}

static bm_status_t encode(const bm_tokenizer_t *tokenizer, bm_cspan_t text,
                          uint32_t flags, bm_range_t typed,
                          bm_token_list_t *list) {
  BM_CHECK(bm_utf8_valid(text.data, text.size), INVALID_ARGUMENT);
  // The room comes first, because it is aligned.
  const size_t each =
      tokenizer->scratch.size / (BM_PIECE_BYTES + 3) & ~(size_t)7;
  uint8_t *data = tokenizer->scratch.data + each * BM_PIECE_BYTES;
  encoder_t encoder = {
      .tables = tokenizer->tables,
      .flags = flags,
      .room = tokenizer->scratch.data,
      .text = {data, 0, each},
      .segment = {data + each, 0, each},
      .other = {data + 2 * each, 0, each},
      .list = *list,
  };
  BM_TRY(put_all(&encoder, &tokenizer->tables->prefix));
  for (size_t at = 0; at < text.size;) {
    const match_t match =
        find_added(&encoder, &tokenizer->tables->added, text, typed, at);
    const bm_cspan_t before = {text.data + at, match.begin - at};
    const bool has_typed = at < typed.end && match.begin > typed.begin;
    BM_TRY(encode_part(&encoder, before, has_typed, at == 0));
    if (match.id != BM_NONE) {
      BM_TRY(bm_token_list_put(&encoder.list, match.id));
    }
    at = match.end;
  }
  BM_TRY(put_all(&encoder, &tokenizer->tables->suffix));
  *list = encoder.list;
  return bm_ok();
}

bm_status_t bm_tokenizer_encode(const bm_tokenizer_t *tokenizer,
                                const char *text, size_t size, uint32_t flags,
                                uint32_t *ids, size_t capacity,
                                size_t *out_count) {
  const bm_cspan_t all = {(const uint8_t *)text, size};
  const bm_range_t typed = {0, (flags & BM_ENCODE_PLAIN) != 0 ? size : 0};
  bm_token_list_t list = {ids, 0, capacity};
  BM_TRY(encode(tokenizer, all, flags, typed, &list));
  *out_count = list.count;
  return bm_ok();
}

bm_status_t bm_tokenizer_encode_typed(const bm_tokenizer_t *tokenizer,
                                      const char *text, size_t size,
                                      bm_range_t typed, uint32_t *ids,
                                      size_t capacity, size_t *out_count) {
  const bm_cspan_t all = {(const uint8_t *)text, size};
  bm_token_list_t list = {ids, 0, capacity};
  BM_TRY(encode(tokenizer, all, 0, typed, &list));
  *out_count = list.count;
  return bm_ok();
}

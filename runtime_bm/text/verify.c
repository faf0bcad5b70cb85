#include "runtime_bm/text/verify.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/text/strings.h"
#include "runtime_bm/text/utf8.h"

#define BM_FILE BM_FILE_TEXT_VERIFY

enum {
  CLASSES = 32,
  CLASSES_OF_MARKS = 256,
  // A longer text of a table would let a text grow too fast for its buffer.
  TEXT_BYTES = 255,
};

// Numbers below `limit`.
static bm_status_t verify_numbers(const bm_numbers_t *numbers, uint32_t limit) {
  if (numbers->count == 0) return bm_ok();
  BM_CHECK(numbers->width >= 1 && numbers->width <= 4, DATA_LOSS);
  BM_CHECK(numbers->bytes != NULL, DATA_LOSS);
  for (uint32_t i = 0; i < numbers->count; ++i) {
    BM_CHECK(bm_numbers_at(numbers, i) < limit, DATA_LOSS);
  }
  return bm_ok();
}

// Numbers of which none is less than the one before, up to `last`.
static bm_status_t verify_ends(const bm_numbers_t *ends, uint32_t last) {
  BM_TRY(verify_numbers(ends, BM_NONE));
  uint32_t before = 0;
  for (uint32_t i = 0; i < ends->count; ++i) {
    const uint32_t end = bm_numbers_at(ends, i);
    BM_CHECK(end >= before && end <= last, DATA_LOSS);
    before = end;
  }
  return bm_ok();
}

static bm_status_t verify_strings(const bm_strings_t *strings) {
  BM_CHECK(strings->size == 0 || strings->bytes != NULL, DATA_LOSS);
  return verify_ends(&strings->ends, strings->size);
}

// Strings that go into texts, which stay UTF-8.
static bm_status_t verify_texts(const bm_strings_t *strings) {
  BM_TRY(verify_strings(strings));
  for (uint32_t i = 0; i < strings->ends.count; ++i) {
    const bm_cspan_t text = bm_strings_at(strings, i);
    BM_CHECK(text.size <= TEXT_BYTES, DATA_LOSS);
    BM_CHECK(bm_utf8_valid(text.data, text.size), DATA_LOSS);
  }
  return bm_ok();
}

// Returns whether `b` comes behind `a`.
static bool is_ascending(bm_cspan_t a, bm_cspan_t b) {
  const size_t both = a.size < b.size ? a.size : b.size;
  for (size_t i = 0; i < both; ++i) {
    if (a.data[i] != b.data[i]) return a.data[i] < b.data[i];
  }
  return a.size < b.size;
}

static bm_status_t verify_sorted(const bm_sorted_t *sorted) {
  BM_TRY(verify_strings(&sorted->strings));
  BM_TRY(verify_numbers(&sorted->order, sorted->strings.ends.count));
  for (uint32_t i = 0; i < sorted->order.count; ++i) {
    const bm_cspan_t string =
        bm_strings_at(&sorted->strings, bm_numbers_at(&sorted->order, i));
    BM_CHECK(string.size != 0, DATA_LOSS);
    if (i == 0) continue;
    const bm_cspan_t before =
        bm_strings_at(&sorted->strings, bm_numbers_at(&sorted->order, i - 1));
    BM_CHECK(is_ascending(before, string), DATA_LOSS);
  }
  return bm_ok();
}

static bm_status_t verify_code_points(const bm_code_points_t *table,
                                      uint32_t limit) {
  BM_CHECK(table->blocks.count != 0, DATA_LOSS);
  BM_CHECK(table->values.count % BM_CODE_POINT_BLOCK == 0, DATA_LOSS);
  BM_TRY(verify_numbers(&table->blocks,
                        table->values.count / BM_CODE_POINT_BLOCK));
  return verify_numbers(&table->values, limit);
}

static bm_status_t verify_pairs(const bm_numbers_t *pairs) {
  // Composed characters are characters.
  BM_TRY(verify_numbers(pairs, 0x110000));
  BM_CHECK(pairs->count % 3 == 0, DATA_LOSS);
  for (uint32_t i = 2; i < pairs->count; i += 3) {
    BM_CHECK(bm_numbers_at(pairs, i) - 0xD800 >= 0x800, DATA_LOSS);
  }
  return bm_ok();
}

static bm_status_t verify_normalizers(const bm_normalizers_t *normalizers) {
  for (uint32_t i = 0; i < normalizers->count; ++i) {
    const bm_normalizer_t *step = &normalizers->steps[i];
    BM_TRY(verify_texts(&step->texts));
    switch (step->kind) {
      case BM_NORMALIZER_MAP:
        BM_TRY(
            verify_code_points(&step->code_points, step->texts.ends.count + 1));
        break;
      case BM_NORMALIZER_COMPOSE:
        BM_TRY(verify_pairs(&step->pairs));
        BM_TRY(verify_code_points(&step->code_points, CLASSES_OF_MARKS));
        break;
      case BM_NORMALIZER_ORDER:
        BM_TRY(verify_code_points(&step->code_points, CLASSES_OF_MARKS));
        break;
      case BM_NORMALIZER_REPLACE:
      case BM_NORMALIZER_PREPEND:
        BM_CHECK(step->texts.ends.count == 2, DATA_LOSS);
        BM_CHECK(bm_strings_at(&step->texts, 0).size != 0, DATA_LOSS);
        break;
      case BM_NORMALIZER_STRIP:
        BM_TRY(verify_code_points(&step->code_points, 2));
        break;
      default:
        return BM_ERROR(DATA_LOSS);
    }
  }
  return bm_ok();
}

static bm_status_t verify_split(const bm_split_t *split) {
  BM_TRY(verify_code_points(&split->classes, CLASSES));
  BM_CHECK(split->stage_count <= BM_SPLIT_STAGES, DATA_LOSS);
  for (uint32_t i = 0; i < split->stage_count; ++i) {
    const bm_split_stage_t *stage = &split->stages[i];
    BM_CHECK((uint32_t)stage->first_alternative + stage->alternative_count <=
                 split->alternative_count,
             DATA_LOSS);
  }
  for (uint32_t i = 0; i < split->alternative_count; ++i) {
    const bm_split_alternative_t *alternative = &split->alternatives[i];
    BM_CHECK(alternative->item_count <= BM_SPLIT_ITEMS &&
                 (uint32_t)alternative->first_item + alternative->item_count <=
                     split->item_count,
             DATA_LOSS);
  }
  return bm_ok();
}

static bm_status_t verify_added(const bm_added_t *added, uint32_t tokens) {
  BM_TRY(verify_sorted(&added->texts));
  BM_TRY(verify_texts(&added->texts.strings));
  BM_CHECK(added->ids.count == added->texts.strings.ends.count, DATA_LOSS);
  BM_CHECK(added->flags.count == added->ids.count, DATA_LOSS);
  BM_TRY(verify_numbers(&added->flags, BM_NONE));
  return verify_numbers(&added->ids, tokens);
}

static bm_status_t verify_merges(const bm_tokenizer_tables_t *tables,
                                 uint32_t tokens) {
  const uint32_t count = tables->byte_tokens.count;
  BM_CHECK(count == 0 || count == 256, DATA_LOSS);
  // A byte without a token has the number behind the last one.
  BM_TRY(verify_numbers(&tables->byte_tokens, tokens + 1));
  BM_CHECK(tables->merge_ends.count == tokens, DATA_LOSS);
  BM_TRY(verify_ends(&tables->merge_ends, tables->merge_rights.count));
  BM_TRY(verify_numbers(&tables->merge_rights, tokens));
  BM_CHECK(tables->merge_ranks.count == tables->merge_rights.count, DATA_LOSS);
  BM_TRY(verify_numbers(&tables->merge_ranks, tables->merge_results.count));
  return verify_numbers(&tables->merge_results, tokens);
}

bm_status_t bm_tokenizer_verify(const bm_tokenizer_tables_t *tables) {
  const uint32_t tokens = tables->tokens.strings.ends.count;
  BM_CHECK(tables->kind < BM_TOKENIZER_COUNT, DATA_LOSS);
  BM_CHECK(tokens != 0 && tokens < BM_NONE, DATA_LOSS);
  BM_TRY(verify_sorted(&tables->tokens));
  BM_CHECK(tables->unknown == BM_NONE || tables->unknown < tokens, DATA_LOSS);
  for (uint32_t i = 0; i < tokens; ++i) {
    const size_t size = bm_strings_at(&tables->tokens.strings, i).size;
    BM_CHECK(size <= tables->longest, DATA_LOSS);
  }
  BM_TRY(verify_numbers(&tables->specials, tokens));
  if (tables->kind == BM_TOKENIZER_BPE) {
    BM_TRY(verify_merges(tables, tokens));
  } else {
    BM_CHECK(tables->unknown != BM_NONE, DATA_LOSS);
  }
  if (tables->kind == BM_TOKENIZER_WORDPIECE) {
    BM_TRY(verify_strings(&tables->continuing));
    BM_CHECK(tables->continuing.ends.count == 1, DATA_LOSS);
  }
  BM_CHECK(tables->kind != BM_TOKENIZER_UNIGRAM || tables->scores != NULL,
           DATA_LOSS);
  BM_TRY(verify_added(&tables->added, tokens));
  BM_TRY(verify_normalizers(&tables->normalizers));
  BM_TRY(verify_added(&tables->added_normalized, tokens));
  BM_TRY(verify_normalizers(&tables->segment_normalizers));
  BM_TRY(verify_code_points(&tables->whitespace, 2));
  BM_TRY(verify_split(&tables->split));
  BM_TRY(verify_numbers(&tables->prefix, tokens));
  return verify_numbers(&tables->suffix, tokens);
}

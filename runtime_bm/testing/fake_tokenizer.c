#include "runtime_bm/testing/fake_tokenizer.h"

#include "runtime_bm/base/memory.h"

static const uint8_t kTokens[] =
    "abc \xC3\xA4"
    "ababc<e><s>";
static const uint8_t kEnds[] = {1, 2, 3, 4, 5, 6, 8, 11, 14, 17};
static const uint8_t kOrder[] = {FAKE_SPACE, FAKE_E, FAKE_S, FAKE_A,  FAKE_AB,
                                 FAKE_ABC,   FAKE_B, FAKE_C, FAKE_A4, FAKE_C3};
static const double kScores[FAKE_TOKENS] = {-1, -1,   -1,    -1, -2,
                                            -2, -1.5, -1.75, 0,  0};

static const uint8_t *keep(fake_tokenizer_t *fake, const uint8_t *bytes,
                           uint32_t size) {
  uint8_t *at = fake->bytes + fake->size;
  memcpy(at, bytes, size);
  fake->size += size;
  return at;
}

static bm_numbers_t numbers(fake_tokenizer_t *fake, const uint8_t *values,
                            uint32_t count) {
  const bm_numbers_t made = {keep(fake, values, count), count, 1};
  return made;
}

static bm_strings_t strings(fake_tokenizer_t *fake, const uint8_t *ends,
                            uint32_t count, const uint8_t *bytes) {
  const uint32_t size = count == 0 ? 0 : ends[count - 1];
  const bm_strings_t made = {numbers(fake, ends, count),
                             keep(fake, bytes, size), size};
  return made;
}

// The numbers of the first code points; all others are like the last of them.
static bm_code_points_t code_points(fake_tokenizer_t *fake,
                                    const uint8_t *values) {
  static const uint8_t kBlocks[] = {0, 1};
  uint8_t all[2 * BM_CODE_POINT_BLOCK];
  memcpy(all, values, BM_CODE_POINT_BLOCK);
  memset(all + BM_CODE_POINT_BLOCK, values[BM_CODE_POINT_BLOCK - 1],
         BM_CODE_POINT_BLOCK);
  const bm_code_points_t made = {numbers(fake, kBlocks, 2),
                                 numbers(fake, all, sizeof(all))};
  return made;
}

static bm_added_t added(fake_tokenizer_t *fake, const char *text, uint32_t size,
                        uint8_t id, uint8_t flags) {
  static const uint8_t kZero = 0;
  const uint8_t end = (uint8_t)size;
  const bm_added_t made = {
      {strings(fake, &end, size != 0, (const uint8_t *)text),
       numbers(fake, &kZero, size != 0)},
      numbers(fake, &id, size != 0),
      numbers(fake, &flags, size != 0)};
  return made;
}

static void make_normalizers(fake_tokenizer_t *fake) {
  static const uint8_t kEndsOfLetters[] = {1, 2, 3};
  uint8_t values[BM_CODE_POINT_BLOCK] = {['A'] = 1, ['B'] = 2, ['C'] = 3};
  const bm_normalizer_t lower = {
      .kind = BM_NORMALIZER_MAP,
      .code_points = code_points(fake, values),
      .texts = strings(fake, kEndsOfLetters, 3, (const uint8_t *)"abc")};
  memset(values, 0, sizeof(values));
  values['^'] = 1;
  const bm_normalizer_t compose = {
      .kind = BM_NORMALIZER_COMPOSE,
      .code_points = code_points(fake, values),
      // `a` and `^` become `b`.
      .pairs = numbers(fake, (const uint8_t *)"a^b", 3)};
  const bm_normalizer_t order = {.kind = BM_NORMALIZER_ORDER,
                                 .code_points = compose.code_points};
  fake->normalizers[0] = lower;
  fake->normalizers[1] = order;
  fake->normalizers[2] = compose;
}

// ` ?[a-z]+| +`
static void make_split(fake_tokenizer_t *fake) {
  enum { OTHER = 1, SPACE = 2, LETTER = 4 };
  uint8_t classes[BM_CODE_POINT_BLOCK] = {[' '] = 1};
  for (uint32_t letter = 'a'; letter <= 'z'; ++letter) classes[letter] = 2;
  fake->items[0] = (bm_split_item_t){SPACE, 0, 1};
  fake->items[1] = (bm_split_item_t){LETTER, 1, BM_SPLIT_UNBOUNDED};
  fake->items[2] = (bm_split_item_t){SPACE, 1, BM_SPLIT_UNBOUNDED};
  fake->alternatives[0] = (bm_split_alternative_t){0, 2, 0};
  fake->alternatives[1] = (bm_split_alternative_t){2, 1, 0};
  fake->stages[0] =
      (bm_split_stage_t){0, 2, BM_SPLIT_KEEP_MATCHES | BM_SPLIT_KEEP_GAPS};
  const bm_split_t split = {.classes = code_points(fake, classes),
                            .items = fake->items,
                            .alternatives = fake->alternatives,
                            .stages = fake->stages,
                            .item_count = 3,
                            .alternative_count = 2,
                            .stage_count = 1};
  fake->tables.split = split;
}

static void make_merges(fake_tokenizer_t *fake) {
  static const uint8_t kMergeEnds[FAKE_TOKENS] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2};
  uint8_t bytes[256];
  memset(bytes, FAKE_TOKENS, sizeof(bytes));
  for (uint32_t token = 0; token < FAKE_AB; ++token) {
    bytes[kTokens[token]] = (uint8_t)token;
  }
  bm_tokenizer_tables_t *tables = &fake->tables;
  tables->byte_tokens = numbers(fake, bytes, sizeof(bytes));
  tables->merge_ends = numbers(fake, kMergeEnds, FAKE_TOKENS);
  tables->merge_rights = numbers(fake, (const uint8_t[]){FAKE_B, FAKE_C}, 2);
  tables->merge_ranks = numbers(fake, (const uint8_t[]){0, 1}, 2);
  tables->merge_results =
      numbers(fake, (const uint8_t[]){FAKE_AB, FAKE_ABC}, 2);
}

void fake_tokenizer_make(fake_tokenizer_t *fake, uint32_t kind) {
  static const uint8_t kNone[BM_CODE_POINT_BLOCK] = {[' '] = 1};
  static const uint8_t kOne = 1;
  memset(fake, 0, sizeof(*fake));
  bm_tokenizer_tables_t *tables = &fake->tables;
  tables->kind = kind;
  tables->flags = kind == BM_TOKENIZER_BPE ? BM_TOKENIZER_BYTES : 0;
  tables->unknown = kind == BM_TOKENIZER_BPE ? BM_NONE : FAKE_E;
  tables->longest = FAKE_LONGEST;
  tables->tokens.strings = strings(fake, kEnds, FAKE_TOKENS, kTokens);
  tables->tokens.order = numbers(fake, kOrder, sizeof(kOrder));
  tables->specials = numbers(fake, (const uint8_t[]){FAKE_E, FAKE_S}, 2);
  make_merges(fake);
  tables->continuing = strings(fake, &kOne, 1, (const uint8_t *)"c");
  tables->longest_word = 8;
  tables->scores = kScores;
  tables->unknown_score = -12;
  tables->added = added(fake, "<e>", 3, FAKE_E, BM_ADDED_SPECIAL);
  make_normalizers(fake);
  tables->normalizers = (bm_normalizers_t){fake->normalizers, 3};
  tables->added_normalized = added(fake, "", 0, 0, 0);
  tables->whitespace = code_points(fake, kNone);
  make_split(fake);
  tables->prefix = numbers(fake, (const uint8_t[]){FAKE_S}, 1);
}

#include "runtime_bm/text/tokenizer.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_tokenizer.h"

enum { TEXT_BYTES = 64 };

static fake_tokenizer_t fake;
static bm_tokenizer_t tokenizer;
static _Alignas(8) uint8_t scratch[BM_TOKENIZER_SCRATCH_BYTES(TEXT_BYTES)];
static uint32_t ids[TEXT_BYTES];
static size_t count;

static void begin(uint32_t kind) {
  const bm_span_t span = {scratch, sizeof(scratch)};
  fake_tokenizer_make(&fake, kind);
  BM_EXPECT_OK(bm_tokenizer_init(&tokenizer, &fake.tables, span));
}

static bm_status_t encode(const char *text, uint32_t flags) {
  size_t size = 0;
  while (text[size] != '\0') ++size;
  return bm_tokenizer_encode(&tokenizer, text, size, flags, ids, TEXT_BYTES,
                             &count);
}

static void expect(const char *text, uint32_t flags, const uint8_t *want,
                   size_t want_count) {
  BM_EXPECT_OK(encode(text, flags));
  BM_EXPECT_EQ(count, want_count);
  for (size_t i = 0; i < count && i < want_count; ++i) {
    BM_EXPECT_EQ(ids[i], want[i]);
  }
}

#define EXPECT_TOKENS(text, flags, ...)               \
  expect(text, flags, (const uint8_t[]){__VA_ARGS__}, \
         sizeof((const uint8_t[]){__VA_ARGS__}) / sizeof(uint8_t))

static void neighbors_merge_in_the_order_in_which_merges_were_learned(void) {
  begin(BM_TOKENIZER_BPE);
  EXPECT_TOKENS("abc", 0, FAKE_ABC);
  EXPECT_TOKENS("aabcb", 0, FAKE_A, FAKE_ABC, FAKE_B);
  // No merge crosses a split, which a space begins.
  EXPECT_TOKENS("ab c", 0, FAKE_AB, FAKE_SPACE, FAKE_C);
  expect("", 0, NULL, 0);
}

static void a_text_is_normalized_first(void) {
  begin(BM_TOKENIZER_BPE);
  EXPECT_TOKENS("ABc", 0, FAKE_ABC);
  EXPECT_TOKENS("ca^", 0, FAKE_C, FAKE_B);
}

static void special_tokens_are_found_unless_they_are_typed(void) {
  begin(BM_TOKENIZER_BPE);
  EXPECT_TOKENS("a<e>b", 0, FAKE_A, FAKE_E, FAKE_B);
  // Of the typed one, only known bytes are left.
  EXPECT_TOKENS("a<e>b", BM_ENCODE_PLAIN, FAKE_A, FAKE_B);
  EXPECT_TOKENS("b", BM_ENCODE_SURROUNDED, FAKE_S, FAKE_B);
  // Of `<e>a<e>`, the first one is not typed.
  const bm_range_t typed = {3, 7};
  BM_EXPECT_OK(bm_tokenizer_encode_typed(&tokenizer, "<e>a<e>", 7, typed, ids,
                                         TEXT_BYTES, &count));
  BM_EXPECT(count == 2 && ids[0] == FAKE_E && ids[1] == FAKE_A);
}

static void a_word_is_its_longest_parts_or_unknown(void) {
  begin(BM_TOKENIZER_WORDPIECE);
  // What goes on begins with `c`, as the token of `c` alone does not go on.
  EXPECT_TOKENS("abc", 0, FAKE_ABC);
  EXPECT_TOKENS("aa", 0, FAKE_E);
  EXPECT_TOKENS("aaaaaaaaaaa", 0, FAKE_E);
}

static void the_likeliest_tokens_win(void) {
  begin(BM_TOKENIZER_UNIGRAM);
  EXPECT_TOKENS("abc", 0, FAKE_ABC);
  EXPECT_TOKENS("abz", 0, FAKE_AB, FAKE_E);
  EXPECT_TOKENS("zb", 0, FAKE_E, FAKE_B);
}

static void what_is_too_long_is_refused(void) {
  char text[2 * TEXT_BYTES + 1];
  memset(text, 'b', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  begin(BM_TOKENIZER_BPE);
  BM_EXPECT_CODE(encode(text, 0), RESOURCE_EXHAUSTED);
  text[TEXT_BYTES] = '\0';
  BM_EXPECT_OK(encode(text, 0));
  BM_EXPECT_EQ(count, TEXT_BYTES);
  BM_EXPECT_CODE(bm_tokenizer_encode(&tokenizer, text, TEXT_BYTES, 0, ids,
                                     TEXT_BYTES - 1, &count),
                 RESOURCE_EXHAUSTED);
  BM_EXPECT_CODE(encode("a\xC3", 0), INVALID_ARGUMENT);
}

static void tables_are_checked(void) {
  const bm_span_t span = {scratch, sizeof(scratch)};
  const bm_span_t askew = {scratch + 1, sizeof(scratch) - 1};
  begin(BM_TOKENIZER_BPE);
  BM_EXPECT_CODE(bm_tokenizer_init(&tokenizer, &fake.tables, askew),
                 INVALID_ARGUMENT);
  bm_tokenizer_tables_t *tables = &fake.tables;
  ((uint8_t *)tables->merge_results.bytes)[1] = FAKE_TOKENS;
  BM_EXPECT_CODE(bm_tokenizer_init(&tokenizer, tables, span), DATA_LOSS);
  fake_tokenizer_make(&fake, BM_TOKENIZER_BPE);
  // Two strings in the wrong order would not be found.
  ((uint8_t *)tables->tokens.order.bytes)[0] = FAKE_A;
  BM_EXPECT_CODE(bm_tokenizer_init(&tokenizer, tables, span), DATA_LOSS);
  fake_tokenizer_make(&fake, BM_TOKENIZER_BPE);
  fake.alternatives[1].first_item = 3;
  BM_EXPECT_CODE(bm_tokenizer_init(&tokenizer, tables, span), DATA_LOSS);
}

static void a_character_comes_with_its_last_token(void) {
  bm_decoder_t decoder;
  char text[BM_DECODER_BYTES(FAKE_LONGEST)];
  size_t size = 9;
  begin(BM_TOKENIZER_BPE);
  BM_EXPECT_OK(bm_decoder_init(&decoder, &tokenizer));
  BM_EXPECT_OK(bm_decoder_take(&decoder, FAKE_C3, text, sizeof(text), &size));
  BM_EXPECT_EQ(size, 0);
  BM_EXPECT_OK(bm_decoder_take(&decoder, FAKE_A4, text, sizeof(text), &size));
  BM_EXPECT(size == 2 && memcmp(text, "\xC3\xA4", 2) == 0);
  BM_EXPECT_OK(bm_decoder_take(&decoder, FAKE_C3, text, sizeof(text), &size));
  BM_EXPECT_OK(bm_decoder_take(&decoder, FAKE_ABC, text, sizeof(text), &size));
  BM_EXPECT(size == 6 && memcmp(text,
                                "\xEF\xBF\xBD"
                                "abc",
                                6) == 0);
  BM_EXPECT_OK(bm_decoder_take(&decoder, FAKE_E, text, sizeof(text), &size));
  BM_EXPECT_EQ(size, 0);
  BM_EXPECT_CODE(
      bm_decoder_take(&decoder, FAKE_TOKENS, text, sizeof(text), &size),
      INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_decoder_take(&decoder, FAKE_A, text, 1, &size),
                 RESOURCE_EXHAUSTED);
  fake.tables.flags |= BM_TOKENIZER_NO_DECODER;
  BM_EXPECT_CODE(bm_decoder_init(&decoder, &tokenizer), UNIMPLEMENTED);
}

int main(void) {
  BM_TEST(neighbors_merge_in_the_order_in_which_merges_were_learned);
  BM_TEST(a_text_is_normalized_first);
  BM_TEST(special_tokens_are_found_unless_they_are_typed);
  BM_TEST(a_word_is_its_longest_parts_or_unknown);
  BM_TEST(the_likeliest_tokens_win);
  BM_TEST(what_is_too_long_is_refused);
  BM_TEST(tables_are_checked);
  BM_TEST(a_character_comes_with_its_last_token);
  return bm_test_end();
}

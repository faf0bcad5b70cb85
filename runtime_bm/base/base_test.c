#include "runtime_bm/base/check.h"
#include "runtime_bm/base/dtype.h"
#include "runtime_bm/base/hash.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/quantize.h"
#include "runtime_bm/base/range.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/testing/bm_test.h"

#define BM_FILE BM_FILE_SELF_CHECK

static bm_text_t text;

static bool text_is(const char *want) {
  size_t size = 0;
  while (want[size] != '\0') ++size;
  const bool equal = text.size == size && memcmp(text.bytes, want, size) == 0;
  bm_text_clear(&text);
  return equal;
}

static void statuses_carry_code_file_and_line(void) {
  const bm_status_t status =
      bm_status_make(BM_CODE_DATA_LOSS, BM_FILE_MODEL, 0x123);
  BM_EXPECT_EQ(status.bits, 0x0512300F);
  BM_EXPECT_EQ(bm_status_code(status), BM_CODE_DATA_LOSS);
  BM_EXPECT_EQ(bm_ok().bits, 0);
}

static void statuses_have_texts(void) {
  bm_text_clear(&text);
  bm_status_text(&text, bm_status_make(BM_CODE_DATA_LOSS, BM_FILE_MODEL, 291));
  BM_EXPECT(
      text_is("0x0512300f: DATA_LOSS (an image is malformed) at "
              "runtime_bm/model/model.c:291"));
  bm_status_text(&text, bm_ok());
  BM_EXPECT(text_is("0x00000000: success"));
  const bm_status_t unknown = {0xFE001FFF};
  bm_status_text(&text, unknown);
  BM_EXPECT(
      text_is("0xfe001fff: code 4095 (not in status.h) at a file that "
              "status.h does not list"));
  BM_EXPECT(bm_status_is_ok(bm_ok()));
  BM_EXPECT(!bm_status_is_ok(BM_ERROR(INTERNAL)));
}

static bm_status_t pass_on(bm_status_t status) {
  BM_TRY(status);
  return BM_ERROR(NOT_FOUND);
}

static void try_passes_errors_on(void) {
  const bm_status_t error = BM_ERROR(INTERNAL);
  BM_EXPECT_EQ(pass_on(error).bits, error.bits);
  BM_EXPECT_CODE(pass_on(bm_ok()), NOT_FOUND);
}

static void ranges_do_not_wrap(void) {
  BM_EXPECT(bm_range_fits(0, 0, 0));
  BM_EXPECT(bm_range_fits(4, 4, 8));
  BM_EXPECT(!bm_range_fits(5, 4, 8));
  BM_EXPECT(!bm_range_fits(9, 0, 8));
  BM_EXPECT(!bm_range_fits(UINT64_MAX, 2, UINT64_MAX));
  BM_EXPECT(!bm_range_fits(2, UINT64_MAX, UINT64_MAX));
  BM_EXPECT(bm_range_overlaps(0, 4, 3, 4));
  BM_EXPECT(bm_range_overlaps(3, 4, 0, 4));
  BM_EXPECT(bm_range_overlaps(0, 8, 2, 1));
  BM_EXPECT(!bm_range_overlaps(0, 4, 4, 4));
  BM_EXPECT(!bm_range_overlaps(4, 4, 0, 4));
  BM_EXPECT(!bm_range_overlaps(4, 0, 4, 0));
}

// runtime_bm/testing/quantize_test.py compares many values with onnxruntime.
static void quantizing_rounds_ties_to_even(void) {
  BM_EXPECT_EQ(bm_quantize_i8(0.25f, 0.5f, 0), 0);
  BM_EXPECT_EQ(bm_quantize_i8(0.75f, 0.5f, 0), 2);
  BM_EXPECT_EQ(bm_quantize_i8(-1.25f, 0.5f, 10), 8);
  BM_EXPECT_EQ(bm_quantize_i8(1e9f, 0.5f, 10), INT8_MAX);
  BM_EXPECT_EQ(bm_quantize_i8(-1e9f, 0.5f, 10), INT8_MIN);
  BM_EXPECT_EQ(bm_quantize_u8(-1e9f, 0.5f, 10), 0);
  BM_EXPECT(bm_dequantize(8, 0.5f, 10) == -1.0f);
}

static void dtypes_have_sizes(void) {
  static const uint8_t kBytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 0};
  for (uint32_t i = 0; i < sizeof(kBytes); ++i) {
    BM_EXPECT_EQ(bm_dtype_bytes(i), kBytes[i]);
  }
  BM_EXPECT_EQ(bm_dtype_bytes(UINT32_MAX), 0);
}

// Test values published with the algorithm.
static void hash_is_fnv1a(void) {
  BM_EXPECT_EQ(bm_hash(BM_HASH_SEED, "", 0), 0xcbf29ce484222325);
  BM_EXPECT_EQ(bm_hash(BM_HASH_SEED, "a", 1), 0xaf63dc4c8601ec8c);
  BM_EXPECT_EQ(bm_hash(BM_HASH_SEED, "foobar", 6), 0x85944171f73967e8);
  BM_EXPECT_EQ(bm_hash(bm_hash(BM_HASH_SEED, "foo", 3), "bar", 3),
               0x85944171f73967e8);
}

static void integers_are_printed(void) {
  bm_text_u64(&text, 0);
  BM_EXPECT(text_is("0"));
  bm_text_u64(&text, UINT64_MAX);
  BM_EXPECT(text_is("18446744073709551615"));
  bm_text_i64(&text, INT64_MIN);
  BM_EXPECT(text_is("-9223372036854775808"));
  bm_text_i64(&text, 42);
  BM_EXPECT(text_is("42"));
  bm_text_hex(&text, 0xBEEF, 8);
  BM_EXPECT(text_is("0000beef"));
  bm_text_hex(&text, 0x123456789, 4);
  BM_EXPECT(text_is("123456789"));
  bm_text_hex(&text, UINT64_MAX, 1);
  BM_EXPECT(text_is("ffffffffffffffff"));
}

static void floats_are_printed(void) {
  bm_text_f64(&text, 0);
  BM_EXPECT(text_is("0"));
  bm_text_f64(&text, 1);
  BM_EXPECT(text_is("1.000000e00"));
  bm_text_f64(&text, -0.00012345678);
  BM_EXPECT(text_is("-1.234568e-04"));
  bm_text_f64(&text, 0.5);
  BM_EXPECT(text_is("5.000000e-01"));
  bm_text_f64(&text, 9.9999999);
  BM_EXPECT(text_is("1.000000e01"));
  bm_text_f64(&text, 6.6e-7);
  BM_EXPECT(text_is("6.600000e-07"));
  bm_text_f64(&text, 1.7976931348623157e308);
  BM_EXPECT(text_is("1.797693e308"));
  bm_text_f64(&text, 4.9406564584124654e-324);
  BM_EXPECT(text_is("4.940656e-324"));
  bm_text_f64(&text, (double)__builtin_inff());
  BM_EXPECT(text_is("inf"));
  bm_text_f64(&text, -(double)__builtin_inff());
  BM_EXPECT(text_is("-inf"));
  bm_text_f64(&text, (double)__builtin_nanf(""));
  BM_EXPECT(text_is("nan"));
}

static void fixed_point_is_printed(void) {
  bm_text_fixed(&text, 0.99999994, 7);
  BM_EXPECT(text_is("0.9999999"));
  bm_text_fixed(&text, -0.5, 4);
  BM_EXPECT(text_is("-0.5000"));
  bm_text_fixed(&text, -0.00001, 2);
  BM_EXPECT(text_is("0.00"));
  bm_text_fixed(&text, 12.75, 0);
  BM_EXPECT(text_is("13"));
  bm_text_fixed(&text, 2e9, 2);
  BM_EXPECT(text_is("2.000000e09"));
  bm_text_fixed(&text, (double)__builtin_nanf(""), 7);
  BM_EXPECT(text_is("nan"));
}

static void lines_are_joined(void) {
  bm_text_t tail;
  bm_text_clear(&tail);
  bm_text_string(&tail, "b,c");
  bm_text_string(&text, "a,");
  bm_text_append(&text, &tail);
  BM_EXPECT(text_is("a,b,c"));
}

static void long_text_is_cut_off(void) {
  struct {
    bm_text_t text;
    uint8_t canary;
  } guarded = {.canary = 0x5A};
  for (int i = 0; i < 100; ++i) bm_text_string(&guarded.text, "0123456789");
  BM_EXPECT_EQ(guarded.text.size, BM_TEXT_BYTES);
  const bm_text_t full = guarded.text;
  bm_text_append(&guarded.text, &full);
  BM_EXPECT_EQ(guarded.text.size, BM_TEXT_BYTES);
  BM_EXPECT_EQ(guarded.canary, 0x5A);
}

static void sums_are_of_words_and_their_places(void) {
  static const uint32_t kWords[] = {1, UINT32_MAX, 3, 0x80000000, 7, 11};
  for (size_t count = 0; count <= sizeof(kWords) / sizeof(*kWords); ++count) {
    uint64_t words = 0;
    uint64_t places = 0;
    for (size_t i = 0; i < count; ++i) {
      words += kWords[i];
      places += (uint64_t)kWords[i] * (count - i);
    }
    // In two steps, at every place.
    for (size_t first = 0; first <= count; ++first) {
      bm_sum_t sum = {0, 0};
      bm_sum_extend(&sum, kWords, first);
      bm_sum_extend(&sum, kWords + first, count - first);
      BM_EXPECT_EQ(sum.words, words);
      BM_EXPECT_EQ(sum.places, places);
    }
  }
}

enum { CHECKED_WORDS = 9 };
static uint32_t checked[CHECKED_WORDS];
static bm_check_t row;

// The row that tools/actions/seal would make of `checked`.
static void seal_row(void) {
  for (uint32_t i = 0; i < CHECKED_WORDS; ++i) checked[i] = 0x9E3779B9u * i;
  row.start = (const uint8_t *)checked;
  row.end = (const uint8_t *)(checked + CHECKED_WORDS);
  row.sum = (bm_sum_t){0, 0};
  bm_sum_extend(&row.sum, checked, CHECKED_WORDS);
  row.guard = ~((uintptr_t)row.start ^ (uintptr_t)row.end);
}

static bm_status_t verify_row(void) {
  bm_verify_t at = {0};
  return bm_check_step(&row, SIZE_MAX, &at);
}

static void every_flipped_bit_is_noticed(void) {
  seal_row();
  BM_EXPECT_OK(verify_row());
  for (uint32_t bit = 0; bit < 32 * CHECKED_WORDS; ++bit) {
    checked[bit / 32] ^= 1u << bit % 32;
    BM_EXPECT_CODE(verify_row(), DAMAGED);
    checked[bit / 32] ^= 1u << bit % 32;
  }
  BM_EXPECT_OK(verify_row());
}

// Nor is a byte read through a damaged row: some of these ranges do not exist.
static void every_flipped_bit_of_a_row_is_noticed(void) {
  for (size_t bit = 0; bit < 8 * sizeof(row.start); ++bit) {
    seal_row();
    row.start = (const uint8_t *)((uintptr_t)row.start ^ (uintptr_t)1 << bit);
    BM_EXPECT_CODE(verify_row(), DAMAGED);
    seal_row();
    row.end = (const uint8_t *)((uintptr_t)row.end ^ (uintptr_t)1 << bit);
    BM_EXPECT_CODE(verify_row(), DAMAGED);
  }
  for (uint32_t bit = 0; bit < 64; ++bit) {
    seal_row();
    row.sum.words ^= (uint64_t)1 << bit;
    BM_EXPECT_CODE(verify_row(), DAMAGED);
    seal_row();
    row.sum.places ^= (uint64_t)1 << bit;
    BM_EXPECT_CODE(verify_row(), DAMAGED);
  }
}

static void two_words_are_not_exchanged(void) {
  seal_row();
  const uint32_t word = checked[2];
  checked[2] = checked[7];
  checked[7] = word;
  BM_EXPECT_CODE(verify_row(), DAMAGED);
}

// In words, the sum of these two flips is 0.
static void two_flipped_bits_are_noticed(void) {
  seal_row();
  checked[0] ^= 0x80000000;
  checked[8] ^= 0x80000000;
  BM_EXPECT_CODE(verify_row(), DAMAGED);
}

static void a_row_without_a_check_is_no_success(void) {
  seal_row();
  row.guard = 0;
  BM_EXPECT_CODE(verify_row(), FAILED_PRECONDITION);
}

int main(void) {
  BM_TEST(statuses_carry_code_file_and_line);
  BM_TEST(statuses_have_texts);
  BM_TEST(try_passes_errors_on);
  BM_TEST(ranges_do_not_wrap);
  BM_TEST(quantizing_rounds_ties_to_even);
  BM_TEST(dtypes_have_sizes);
  BM_TEST(hash_is_fnv1a);
  BM_TEST(integers_are_printed);
  BM_TEST(floats_are_printed);
  BM_TEST(fixed_point_is_printed);
  BM_TEST(lines_are_joined);
  BM_TEST(long_text_is_cut_off);
  BM_TEST(sums_are_of_words_and_their_places);
  BM_TEST(every_flipped_bit_is_noticed);
  BM_TEST(every_flipped_bit_of_a_row_is_noticed);
  BM_TEST(two_words_are_not_exchanged);
  BM_TEST(two_flipped_bits_are_noticed);
  BM_TEST(a_row_without_a_check_is_no_success);
  return bm_test_end();
}

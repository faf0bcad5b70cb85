#include "runtime_bm/text/sampler.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"

#define BM_FILE BM_FILE_SAMPLER

enum { COUNT = 5, RUNS = 4000 };

static const float kLogits[COUNT] = {1.0f, 3.0f, -2.0f, 2.5f, 3.0f};
static uint32_t order[COUNT];
static bm_sampler_t sampler;
static uint32_t counts[COUNT];

static void begin(float temperature, uint32_t top_k, float top_p,
                  float penalty) {
  const bm_sampling_t settings = {temperature, top_k, top_p, penalty};
  BM_EXPECT_OK(bm_sampler_init(&sampler, &settings, 1, order, COUNT));
}

static uint32_t next(const uint32_t *seen, size_t seen_count) {
  float logits[COUNT];
  memcpy(logits, kLogits, sizeof(logits));
  return bm_sampler_next(&sampler, logits, seen, seen_count);
}

static void sample(void) {
  memset(counts, 0, sizeof(counts));
  for (uint32_t i = 0; i < RUNS; ++i) ++counts[next(NULL, 0)];
}

static void at_temperature_0_the_first_of_the_likeliest_is_next(void) {
  begin(0.0f, 0, 1.0f, 1.0f);
  BM_EXPECT_EQ(next(NULL, 0), 1);
}

static void what_has_been_there_is_less_likely(void) {
  const uint32_t seen[] = {1, 1, 4, COUNT};
  begin(0.0f, 0, 1.0f, 2.0f);
  BM_EXPECT_EQ(next(seen, 1), 4);
  BM_EXPECT_EQ(next(seen, 4), 3);
}

static void tokens_are_as_frequent_as_they_are_likely(void) {
  begin(1.0f, 0, 1.0f, 1.0f);
  sample();
  // Their shares are 0.049, 0.364, 0.002, 0.221 and 0.364 (wanted: within 4
  // standard deviations).
  static const uint32_t kWanted[COUNT] = {197, 1455, 10, 883, 1455};
  static const uint32_t kNear[COUNT] = {55, 122, 10, 105, 122};
  for (uint32_t i = 0; i < COUNT; ++i) {
    BM_EXPECT(counts[i] + kNear[i] >= kWanted[i] &&
              counts[i] <= kWanted[i] + kNear[i]);
  }
}

static void top_k_and_top_p_leave_out_the_unlikely(void) {
  begin(1.0f, 3, 1.0f, 1.0f);
  sample();
  BM_EXPECT(counts[0] == 0 && counts[2] == 0 && counts[3] != 0);
  // Two tokens have a share of 0.73 together.
  begin(1.0f, 0, 0.7f, 1.0f);
  sample();
  BM_EXPECT(counts[3] == 0 && counts[1] != 0 && counts[4] != 0);
  begin(1.0f, 0, 0.01f, 1.0f);
  sample();
  BM_EXPECT_EQ(counts[1], RUNS);
}

static void settings_without_a_meaning_are_refused(void) {
  static const bm_sampling_t kBad[] = {
      {-1.0f, 0, 1.0f, 1.0f},
      {1.0f, 0, 0.0f, 1.0f},
      {1.0f, 0, 1.5f, 1.0f},
      {1.0f, 0, 1.0f, 0.0f},
  };
  for (uint32_t i = 0; i < sizeof(kBad) / sizeof(kBad[0]); ++i) {
    BM_EXPECT_CODE(bm_sampler_init(&sampler, &kBad[i], 1, order, COUNT),
                   INVALID_ARGUMENT);
  }
  const bm_sampling_t good = {1.0f, 0, 1.0f, 1.0f};
  BM_EXPECT_CODE(bm_sampler_init(&sampler, &good, 1, order, 0),
                 INVALID_ARGUMENT);
}

static void logits_that_are_no_numbers_are_never_likely(void) {
  const uint32_t bits[COUNT] = {0x7FC00000, 0x40000000, 0x7FC00000, 0x3F800000,
                                0x7F800000};
  float logits[COUNT];
  begin(1.0f, 0, 1.0f, 1.0f);
  memcpy(logits, bits, sizeof(logits));
  // Infinity.
  BM_EXPECT_EQ(bm_sampler_next(&sampler, logits, NULL, 0), 4);
  logits[4] = logits[0];
  const uint32_t token = bm_sampler_next(&sampler, logits, NULL, 0);
  BM_EXPECT(token == 1 || token == 3);
  for (uint32_t i = 0; i < COUNT; ++i) logits[i] = logits[0];
  BM_EXPECT_EQ(bm_sampler_next(&sampler, logits, NULL, 0), 0);
}

int main(void) {
  BM_TEST(at_temperature_0_the_first_of_the_likeliest_is_next);
  BM_TEST(what_has_been_there_is_less_likely);
  BM_TEST(tokens_are_as_frequent_as_they_are_likely);
  BM_TEST(top_k_and_top_p_leave_out_the_unlikely);
  BM_TEST(settings_without_a_meaning_are_refused);
  BM_TEST(logits_that_are_no_numbers_are_never_likely);
  return bm_test_end();
}

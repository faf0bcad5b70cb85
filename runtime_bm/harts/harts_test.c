// Meetings and jobs of harts that are threads.
#include "runtime_bm/harts/harts.h"

#include "runtime_bm/base/isa.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/thread_harts.h"

enum { ROUNDS = 300 };

// Not atomic: only meetings keep the harts apart.
static uint32_t numbers[BM_MAX_HARTS];
static uint32_t wrong[BM_MAX_HARTS];
static uint32_t shared;

static void meet(void) { bm_harts_meet(NULL, NULL); }

static uint32_t sum_of(const uint32_t *values) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < bm_hart_count; ++i) sum += values[i];
  return sum;
}

static void see_each_other(void *context, uint32_t hart) {
  BM_EXPECT(context == numbers);
  for (uint32_t round = 1; round <= ROUNDS; ++round) {
    thread_harts_dawdle();
    numbers[hart] = round;
    meet();
    if (sum_of(numbers) != round * bm_hart_count) ++wrong[hart];
    meet();
  }
}

static void every_hart_sees_what_others_wrote_before_a_meeting(void) {
  BM_EXPECT_OK(bm_harts_run(see_each_other, numbers));
  BM_EXPECT_EQ(sum_of(wrong), 0);
  BM_EXPECT_EQ(sum_of(numbers), ROUNDS * bm_hart_count);
}

static void add_alone(void *context) {
  uint32_t *sum = context;
  ++*sum;
  for (uint32_t i = 0; i < bm_hart_count; ++i) ++numbers[i];
}

static void add(void *context, uint32_t hart) {
  (void)context;
  for (uint32_t round = 1; round <= ROUNDS; ++round) {
    thread_harts_dawdle();
    bm_harts_meet(add_alone, &shared);
    if (numbers[hart] != round || shared != round) ++wrong[hart];
    // Otherwise the next one may be over before this hart has looked.
    meet();
  }
}

static void the_last_one_is_alone(void) {
  for (uint32_t i = 0; i < bm_hart_count; ++i) numbers[i] = 0;
  BM_EXPECT_OK(bm_harts_run(add, NULL));
  BM_EXPECT_EQ(shared, ROUNDS);
  BM_EXPECT_EQ(sum_of(wrong), 0);
}

static void count_job(void *context, uint32_t hart) {
  uint32_t *counts = context;
  thread_harts_dawdle();
  ++counts[hart];
}

static void jobs_follow_each_other(void) {
  uint32_t counts[BM_MAX_HARTS] = {0};
  for (uint32_t i = 1; i <= ROUNDS; ++i) {
    BM_EXPECT_OK(bm_harts_run(count_job, counts));
    // The others sleep, and hart 0 reads what they wrote.
    if (i % 64 == 0) thread_harts_dawdle();
    BM_EXPECT_EQ(sum_of(counts), i * bm_hart_count);
  }
}

static void all_are_present(void) {
  BM_EXPECT_EQ(bm_harts_present(), ((uint64_t)1 << bm_hart_count) - 1);
}

static void a_cpu_is_what_all_have(void) {
  bm_hal_cpu_t cpus[BM_MAX_HARTS];
  for (uint32_t i = 0; i < BM_MAX_HARTS; ++i) {
    cpus[i] = (bm_hal_cpu_t){.isa = i == 0 ? "first" : "other",
                             .isa_bits = BM_ISA_RV64 | BM_ISA_V | BM_ISA_ZVFH,
                             .vlen_bits = 256};
  }
  const uint32_t last = bm_hart_count - 1;
  cpus[last].vlen_bits = 128;
  cpus[last / 2].isa_bits = BM_ISA_RV64 | BM_ISA_V;
  thread_harts_cpus = cpus;
  const bm_hal_cpu_t cpu = bm_harts_cpu();
  BM_EXPECT_EQ(cpu.vlen_bits, 128);
  BM_EXPECT_EQ(cpu.isa_bits, BM_ISA_RV64 | BM_ISA_V);
  BM_EXPECT_EQ(cpu.isa[0], 'f');
  thread_harts_cpus = NULL;
}

static void every_hart_fetches_new_code(void) {
  uint32_t code = 0;
  BM_EXPECT_OK(bm_harts_code_written(&code, 5));
  BM_EXPECT_EQ(code, 5 * bm_hart_count);
}

int main(void) {
  BM_TEST(every_hart_sees_what_others_wrote_before_a_meeting);
  BM_TEST(the_last_one_is_alone);
  BM_TEST(jobs_follow_each_other);
  BM_TEST(all_are_present);
  BM_TEST(a_cpu_is_what_all_have);
  BM_TEST(every_hart_fetches_new_code);
  return bm_test_end();
}

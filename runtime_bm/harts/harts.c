#include "runtime_bm/harts/harts.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/hal/harts.h"

#define BM_FILE BM_FILE_HARTS

enum {
  // Two words that different harts write are in different cache lines.
  LINE = 64,
  // Looks at a word before a hart goes to sleep: what an interrupt costs,
  // about.
  SPINS = 500,
  // Turns of the other harts until one of them counts as missing. A turn takes
  // a hart hundreds of cycles, and starting it some thousands.
  MAX_TURNS = 100000,
};

volatile uint32_t bm_hart_commands[BM_MAX_HARTS];

static _Alignas(LINE) atomic_uint present;
// The harts that have come to the meeting under way.
static _Alignas(LINE) atomic_uint arrived;
// The meetings that are over; their number wraps around.
static _Alignas(LINE) atomic_uint meetings;
// The harts that need an interrupt to see that a meeting is over.
static _Alignas(LINE) atomic_uint asleep;

// Written by hart 0 while the others wait for a meeting.
static _Alignas(LINE) bm_harts_job_t job;
static void *job_context;

static uint32_t bit_of(uint32_t hart) { return (uint32_t)1 << hart; }

// Waits until a meeting is over of which `before` is the number. A hart says
// that it sleeps before it looks for the last time, and the one that ends the
// meeting looks for sleepers after that (all in one order, the default of C's
// atomics), so one of the two sees the other. An interrupt that comes before
// the hart is asleep stays pending, and ends the sleep.
static void wait_for(uint32_t before) {
  for (uint32_t i = 0; i < SPINS; ++i) {
    if (atomic_load_explicit(&meetings, memory_order_acquire) != before) return;
  }
  const uint32_t me = bit_of(bm_hal_hart());
  atomic_fetch_or(&asleep, me);
  while (atomic_load(&meetings) == before) bm_hal_hart_sleep();
  atomic_fetch_and(&asleep, ~me);
}

void bm_harts_meet(bm_harts_alone_t alone, void *context) {
  const uint32_t before = atomic_load_explicit(&meetings, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel) + 1 !=
      bm_hart_count) {
    wait_for(before);
    return;
  }
  if (alone != NULL) alone(context);
  // Nobody arrives again before the meeting is over.
  atomic_store_explicit(&arrived, 0, memory_order_relaxed);
  atomic_store(&meetings, before + 1);
  const uint32_t sleepers = atomic_load(&asleep);
  if (sleepers != 0) bm_hal_harts_wake(sleepers);
}

uint32_t bm_harts_present(void) { return atomic_load(&present); }

bm_status_t bm_harts_start(void) {
  static bool called;
  const uint32_t all = bit_of(bm_hart_count) - 1;
  if (!called) {
    called = true;
    atomic_fetch_or(&present, bit_of(0));
    for (uint32_t i = 1; i < bm_hart_count; ++i) bm_hal_hart_start(i);
    for (uint32_t i = 0; i < MAX_TURNS && bm_harts_present() != all; ++i) {
      // Does not sleep, and lets an emulator go on with another hart.
      bm_hal_harts_wake(bit_of(0));
      bm_hal_hart_sleep();
    }
  }
  BM_CHECK(bm_harts_present() == all, HART_MISSING);
  return bm_ok();
}

bm_status_t bm_harts_run(bm_harts_job_t new_job, void *context) {
  BM_TRY(bm_harts_start());
  job = new_job;
  job_context = context;
  bm_harts_meet(NULL, NULL);
  new_job(context, 0);
  bm_harts_meet(NULL, NULL);
  job_context = NULL;  // may be on the caller's stack
  return bm_ok();
}

void bm_harts_enter(uint32_t hart) {
  atomic_fetch_or(&present, bit_of(hart));
  for (;;) {
    bm_harts_meet(NULL, NULL);
    job(job_context, hart);
    bm_harts_meet(NULL, NULL);
  }
}

// One hart after the other, for bm_hal_cpu returns a name in memory of its own.
static void reduce_cpu(void *context, uint32_t hart) {
  bm_hal_cpu_t *common = context;
  for (uint32_t i = bm_hart_count; i-- > 0;) {
    if (i == hart) {
      const bm_hal_cpu_t cpu = bm_hal_cpu();
      common->isa_bits &= cpu.isa_bits;
      if (cpu.vlen_bits < common->vlen_bits) common->vlen_bits = cpu.vlen_bits;
    }
    bm_harts_meet(NULL, NULL);
  }
}

bm_hal_cpu_t bm_harts_cpu(void) {
  bm_hal_cpu_t cpu = bm_hal_cpu();
  const bm_status_t status = bm_harts_run(reduce_cpu, &cpu);
  return status.bits == 0 ? cpu : bm_hal_cpu();
}

static void fetch_code(void *context, uint32_t hart) {
  const bm_span_t *code = context;
  (void)hart;
  bm_hal_code_written(code->data, code->size);
}

bm_status_t bm_harts_code_written(void *memory, size_t size) {
  bm_span_t code = {memory, size};
  return bm_harts_run(fetch_code, &code);
}

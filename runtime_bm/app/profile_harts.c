// The profile of several harts. Each counts its part of every command; whoever
// comes last to a barrier prints what all did since the one before, while the
// others wait and nobody counts.
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/profile.h"
#include "runtime_bm/harts/harts.h"

// Commands between two barriers; where there are more, all meet once more.
enum { MAX_ROWS = 32 };

typedef struct row_t {
  uint32_t index;
  uint64_t instret[BM_MAX_HARTS];
} row_t;

// What only one hart writes, in cache lines of its own.
typedef struct counter_t {
  _Alignas(64) uint64_t since;
  uint32_t row_count;
} counter_t;

static counter_t counters[BM_MAX_HARTS];
static row_t rows[MAX_ROWS];

// The last barrier: who came last, what it took until all had come, when it
// let the others go on, and what it took in all; 0 if there was none.
static uint32_t last;
static uint64_t arriving;
static uint64_t let_go;
static uint64_t barrier;

static BM_NOINLINE void report_barrier(void) {
  bm_text_t line;
  if (barrier == 0) return;
  bm_console_record(&line, "BARRIER");
  bm_console_field(&line, " instret=", barrier);
  bm_console_write(&line);
  barrier = 0;
}

static BM_NOINLINE void report_row(const row_t *row) {
  bm_text_t line;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < bm_hart_count; ++i) sum += row->instret[i];
  bm_console_record(&line, "DISPATCH");
  bm_console_field(&line, " index=", row->index);
  bm_console_field(&line, " instret=", sum);
  for (uint32_t i = 0; i < bm_hart_count; ++i) {
    bm_console_field(&line, i == 0 ? " harts=" : ",", row->instret[i]);
  }
  bm_console_write(&line);
}

static void have_met(uint32_t hart, uint64_t now) {
  arriving = now - counters[hart].since;
  last = hart;
  report_barrier();
  for (uint32_t i = 0; i < counters[hart].row_count; ++i) report_row(&rows[i]);
  for (uint32_t i = 0; i < bm_hart_count; ++i) counters[i].row_count = 0;
  let_go = bm_hal_instret();
}

static void leave(uint32_t hart, uint64_t now) {
  if (hart == last) barrier = arriving + now - let_go;
}

static void have_met_for_room(void *context) {
  const counter_t *counter = context;
  have_met((uint32_t)(counter - counters), bm_hal_instret());
}

static void add_row(uint32_t hart, uint32_t index, uint64_t now) {
  counter_t *counter = &counters[hart];
  row_t *row = &rows[counter->row_count++];
  row->instret[hart] = now - counter->since;
  if (hart == 0) row->index = index;
  if (counter->row_count == MAX_ROWS) {
    counter->since = bm_hal_instret();
    bm_harts_meet(have_met_for_room, counter);
    leave(hart, bm_hal_instret());
  }
}

static void observe(void *context, bm_hart_event_t event, uint32_t hart,
                    uint32_t index) {
  const uint64_t now = bm_hal_instret();
  (void)context;
  switch (event) {
    case BM_HART_ENDS:
      add_row(hart, index, now);
      break;
    case BM_HART_ARRIVES:
      break;
    case BM_HARTS_MET:
      have_met(hart, now);
      return;
    case BM_HART_LEAVES:
      leave(hart, now);
      break;
  }
  counters[hart].since = bm_hal_instret();
}

bool bm_profile_is_apart(void) { return true; }

void bm_profile_begin_apart(bm_model_t *model) {
  model->runner.hart_observer = observe;
}

// The run with a profile is over, but for what its last barrier took.
void bm_profile_begin(bm_model_t *model) {
  (void)model;
  report_barrier();
}

bm_profile_t bm_profile_end(const bm_model_t *model) {
  const bm_profile_t none = {0, 0, BM_PROFILE_UNKNOWN, BM_PROFILE_UNKNOWN};
  (void)model;
  return none;
}

// The walk of several harts, on boards and, with threads, on the host.
#include <stdatomic.h>

#include "runtime_bm/base/memory.h"
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/plan/plan_run.h"
#include "runtime_bm/plan/plan_verify.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/share_kernels.h"

#define READ BM_PLAN_ACCESS_READ
#define WRITE BM_PLAN_ACCESS_WRITE

enum { ROWS = 64, ROUNDS = 20, WEIGHTS_BYTES = 8192, ARENA_BYTES = 16384 };

// Kernels of the plans below.
enum { WHERE, SPREAD, FAIL, KERNEL_COUNT };

typedef struct tables_t {
  bm_plan_header_t header;
  bm_plan_export_t exports[KERNEL_COUNT + 1];
  bm_plan_command_t commands[ROWS];
  bm_plan_binding_t bindings[ROWS * 2];
  uint32_t constants[ROWS * 2];
} tables_t;

static tables_t tables;
static bm_plan_t plan;
static _Alignas(BM_PLAN_ALIGNMENT) uint8_t arena[ARENA_BYTES];
static _Alignas(BM_PLAN_ALIGNMENT) uint8_t weights[WEIGHTS_BYTES];

static const void *functions[KERNEL_COUNT + 1];

// Begins a plan without commands; the last export is linked.
static void begin(void) {
  const tables_t nothing = {
      .header = {.arena_bytes = ARENA_BYTES, .weights_bytes = WEIGHTS_BYTES}};
  tables = nothing;
  tables.header.exports.offset = offsetof(tables_t, exports);
  tables.header.commands.offset = offsetof(tables_t, commands);
  tables.header.bindings.offset = offsetof(tables_t, bindings);
  tables.header.constants.offset = offsetof(tables_t, constants);
  tables.exports[KERNEL_COUNT].executable = BM_PLAN_LINKED;
  functions[WHERE] = share_where;
  functions[SPREAD] = share_spread;
  functions[FAIL] = share_fail;
  functions[KERNEL_COUNT] = share_where;
  plan = (bm_plan_t){.header = &tables.header, .weights = weights};
  memset(arena, 0, sizeof(arena));
}

static bm_plan_command_t *add(uint32_t kind, uint32_t flags) {
  bm_plan_command_t *command = &tables.commands[tables.header.commands.count++];
  command->kind = (uint8_t)kind;
  command->flags = (uint8_t)flags;
  command->first_binding = tables.header.bindings.count;
  command->first_constant = tables.header.constants.count;
  return command;
}

static void bind(bm_plan_command_t *command, uint32_t region, uint32_t access,
                 uint32_t offset, uint32_t length) {
  ++command->binding_count;
  tables.bindings[tables.header.bindings.count++] =
      (bm_plan_binding_t){.region = (uint8_t)region,
                          .access = (uint8_t)access,
                          .alignment = 1,
                          .offset = offset,
                          .length = length};
}

static void push(bm_plan_command_t *command, uint32_t constant) {
  ++command->constant_count;
  tables.constants[tables.header.constants.count++] = constant;
}

static bm_plan_command_t *dispatch(uint32_t export_index, uint32_t flags,
                                   uint32_t x, uint32_t y, uint32_t z) {
  bm_plan_command_t *command = add(BM_COMMAND_DISPATCH, flags);
  command->export_index = (uint16_t)export_index;
  command->workgroup_count[0] = x;
  command->workgroup_count[1] = y;
  command->workgroup_count[2] = z;
  return command;
}

static bm_status_t run(bm_plan_runner_t *runner) {
  BM_EXPECT_OK(bm_plan_verify_order(&plan));
  return bm_plan_run(runner, 0, tables.header.commands.count);
}

static bm_plan_runner_t runner_of(void) {
  return bm_plan_runner_of(&plan, arena, functions);
}

static const share_seen_t *seen_at(uint32_t offset) {
  return (const share_seen_t *)(void *)(arena + offset);
}

// Each workgroup runs once, on the hart whose turn it is, and knows its place.
static void workgroups_are_shared(void) {
  static const uint32_t kCounts[][3] = {{5, 3, 2}, {1, 3, 1},  {1, 1, 4},
                                        {2, 1, 1}, {17, 1, 1}, {3, 4, 1}};
  enum { COUNT = sizeof(kCounts) / sizeof(kCounts[0]) };
  uint32_t offset = 0;
  begin();
  for (uint32_t i = 0; i < COUNT; ++i) {
    const uint32_t *count = kCounts[i];
    const uint32_t bytes =
        count[0] * count[1] * count[2] * sizeof(share_seen_t);
    bind(dispatch(WHERE, 0, count[0], count[1], count[2]), BM_PLAN_REGION_ARENA,
         WRITE, offset, bytes);
    offset += bytes;
  }
  BM_EXPECT(offset <= ARENA_BYTES);
  bm_plan_runner_t runner = runner_of();
  BM_EXPECT_OK(run(&runner));
  for (uint32_t i = 0; i < COUNT; ++i) {
    const uint32_t *count = kCounts[i];
    const uint32_t all = count[0] * count[1] * count[2];
    const share_seen_t *seen = seen_at(tables.bindings[i].offset);
    for (uint32_t n = 0; n < all; ++n, ++seen) {
      BM_EXPECT_EQ(seen->runs, 1);
      BM_EXPECT(n >= all * seen->hart / bm_hart_count);
      BM_EXPECT(n < all * (seen->hart + 1) / bm_hart_count);
      BM_EXPECT_EQ(seen->max_concurrency, bm_hart_count);
      BM_EXPECT_EQ(seen->id[0], n % count[0]);
      BM_EXPECT_EQ(seen->id[1], n / count[0] % count[1]);
      BM_EXPECT_EQ(seen->id[2], n / count[0] / count[1]);
      for (int k = 0; k < 3; ++k) BM_EXPECT_EQ(seen->count[k], count[k]);
    }
  }
}

// Commands of one workgroup go to one hart after the other, from each barrier
// on, but what is linked stays on hart 0.
static void whole_commands_take_turns(void) {
  enum { COMMANDS = 20, BARRIER_AT = 11 };
  begin();
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    const uint32_t flags = i == BARRIER_AT ? BM_COMMAND_BARRIER : 0;
    const bool linked = i % 5 == 3;
    bind(dispatch(linked ? KERNEL_COUNT : WHERE, flags, linked ? 2 : 1, 1, 1),
         BM_PLAN_REGION_ARENA, WRITE, i * 128, 2 * sizeof(share_seen_t));
  }
  bm_plan_runner_t runner = runner_of();
  BM_EXPECT_OK(run(&runner));
  uint32_t turn = 0;
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    const share_seen_t *seen = seen_at(i * 128);
    if (i == BARRIER_AT) turn = 0;
    BM_EXPECT_EQ(seen->runs, 1);
    if (i % 5 == 3) {
      BM_EXPECT_EQ(seen[1].runs, 1);
      BM_EXPECT_EQ(seen[0].hart | seen[1].hart, 0);
    } else {
      BM_EXPECT_EQ(seen->hart, turn++ % bm_hart_count);
    }
  }
}

// Each of these needs all that the one before it wrote.
static void barriers_keep_commands_apart(void) {
  enum { COMMANDS = 32, WIDTH = 13 };
  begin();
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    bm_plan_command_t *command =
        dispatch(SPREAD, BM_COMMAND_BARRIER, WIDTH, 1, 1);
    bind(command, BM_PLAN_REGION_ARENA, READ, i % 2 * 64, 64);
    bind(command, BM_PLAN_REGION_ARENA, WRITE, (i + 1) % 2 * 64, 64);
  }
  uint32_t want[2][16] = {{0}};
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    uint32_t sum = 0;
    for (uint32_t n = 0; n < WIDTH; ++n) sum += want[i % 2][n];
    for (uint32_t n = 0; n < WIDTH; ++n) want[(i + 1) % 2][n] = sum + n;
  }
  bm_plan_runner_t runner = runner_of();
  for (uint32_t round = 0; round < ROUNDS; ++round) {
    memset(arena, 0, 128);
    BM_EXPECT_OK(run(&runner));
    BM_EXPECT(memcmp(arena, want, sizeof(want)) == 0);
  }
}

static void transfer(uint32_t length, uint32_t pattern_bytes) {
  enum { SOURCE = 3, COPY_AT = 64, FILL_AT = 8192 };
  begin();
  bm_plan_command_t *command = add(BM_COMMAND_COPY, 0);
  bind(command, BM_PLAN_REGION_WEIGHTS, READ, SOURCE, length);
  bind(command, BM_PLAN_REGION_ARENA, WRITE, COPY_AT, length);
  command = add(BM_COMMAND_FILL, 0);
  bind(command, BM_PLAN_REGION_ARENA, WRITE, FILL_AT, length);
  push(command, 0x44332211);
  push(command, pattern_bytes);
  bm_plan_runner_t runner = runner_of();
  BM_EXPECT_OK(run(&runner));
  BM_EXPECT(memcmp(arena + COPY_AT, weights + SOURCE, length) == 0);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < length; ++i) {
    wrong += arena[FILL_AT + i] != 0x11 * (i % pattern_bytes + 1);
  }
  BM_EXPECT_EQ(wrong, 0);
  for (uint32_t i = 0; i < 64; ++i) {
    wrong += arena[COPY_AT - 1 - i] | arena[COPY_AT + length + i];
    wrong += arena[FILL_AT - 1 - i] | arena[FILL_AT + length + i];
  }
  BM_EXPECT_EQ(wrong, 0);
}

static void copies_and_fills_are_whole(void) {
  static const uint32_t kLengths[] = {0, 4, 1020, 1024, 1028, 4096, 4100, 8000};
  for (uint32_t i = 0; i < WEIGHTS_BYTES; ++i) weights[i] = (uint8_t)(i % 251);
  for (uint32_t i = 0; i < sizeof(kLengths) / sizeof(kLengths[0]); ++i) {
    for (uint32_t bytes = 1; bytes <= 4; bytes *= 2) {
      transfer(kLengths[i], bytes);
    }
  }
}

static uint32_t observed[ROWS];
static uint32_t observed_count;

static void observe(void *context, uint32_t index) {
  BM_EXPECT(context == observed);
  observed[observed_count++ % ROWS] = index;
}

static void hart_0_observes(void) {
  enum { COMMANDS = 9 };
  begin();
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    bind(dispatch(WHERE, i % 3 == 0 ? BM_COMMAND_BARRIER : 0, 1 + i % 2, 1, 1),
         BM_PLAN_REGION_ARENA, WRITE, i * 128, 2 * sizeof(share_seen_t));
  }
  bm_plan_runner_t runner = runner_of();
  runner.observer = observe;
  runner.observer_context = observed;
  observed_count = 0;
  BM_EXPECT_OK(bm_plan_run(&runner, 2, 0));
  BM_EXPECT_OK(bm_plan_run(&runner, 1, COMMANDS - 1));
  BM_EXPECT_EQ(observed_count, COMMANDS - 1);
  for (uint32_t i = 0; i < observed_count; ++i)
    BM_EXPECT_EQ(observed[i], i + 1);
}

// One workgroup fails: what follows the next barrier does not run, all harts
// come home, and the next run is as if nothing had been.
static void all_stop_when_a_kernel_fails(void) {
  enum { WIDTH = 9 };
  for (uint32_t bad = 0; bad <= WIDTH; ++bad) {
    begin();
    bm_plan_command_t *command = dispatch(FAIL, 0, WIDTH, 1, 1);
    push(command, bad);
    bind(dispatch(WHERE, BM_COMMAND_BARRIER, WIDTH, 1, 1), BM_PLAN_REGION_ARENA,
         WRITE, 0, WIDTH * sizeof(share_seen_t));
    bind(dispatch(WHERE, BM_COMMAND_BARRIER, 1, 1, 1), BM_PLAN_REGION_ARENA,
         WRITE, 1024, sizeof(share_seen_t));
    bm_plan_runner_t runner = runner_of();
    if (bad == WIDTH) {
      BM_EXPECT_OK(run(&runner));
    } else {
      BM_EXPECT_CODE(run(&runner), INTERNAL);
    }
    for (uint32_t i = 0; i < WIDTH; ++i) {
      BM_EXPECT_EQ(seen_at(0)[i].runs, bad == WIDTH);
    }
    BM_EXPECT_EQ(seen_at(1024)->runs, bad == WIDTH);
  }
}

// The last command of a run has no barrier behind it.
static void a_failure_at_the_end_is_not_lost(void) {
  begin();
  push(dispatch(FAIL, 0, bm_hart_count, 1, 1), bm_hart_count - 1);
  bm_plan_runner_t runner = runner_of();
  BM_EXPECT_CODE(run(&runner), INTERNAL);
}

typedef struct heard_t {
  atomic_uint ends;
  atomic_uint arrives;
  atomic_uint met;
  atomic_uint leaves;
} heard_t;

static void hear(void *context, bm_hart_event_t event, uint32_t hart,
                 uint32_t index) {
  heard_t *heard = context;
  (void)hart;
  (void)index;
  if (event == BM_HART_ENDS) atomic_fetch_add(&heard->ends, 1);
  if (event == BM_HART_ARRIVES) atomic_fetch_add(&heard->arrives, 1);
  if (event == BM_HARTS_MET) atomic_fetch_add(&heard->met, 1);
  if (event == BM_HART_LEAVES) atomic_fetch_add(&heard->leaves, 1);
}

// All harts tell what they do, and at each barrier one that all are there.
static void harts_tell_what_they_do(void) {
  enum { COMMANDS = 6, BARRIERS = 2 };
  heard_t heard = {0};
  begin();
  for (uint32_t i = 0; i < COMMANDS; ++i) {
    bind(dispatch(WHERE, i % 3 == 0 ? BM_COMMAND_BARRIER : 0, 1, 1, 1),
         BM_PLAN_REGION_ARENA, WRITE, i * 128, sizeof(share_seen_t));
  }
  bm_plan_runner_t runner = runner_of();
  runner.hart_observer = hear;
  runner.hart_observer_context = &heard;
  BM_EXPECT_OK(run(&runner));
  BM_EXPECT_EQ(heard.ends, COMMANDS * bm_hart_count);
  // The first barrier is where the run begins, and there is one at its end.
  BM_EXPECT_EQ(heard.met, BARRIERS + 1);
  BM_EXPECT_EQ(heard.arrives, (BARRIERS + 1) * bm_hart_count);
  BM_EXPECT_EQ(heard.leaves, (BARRIERS + 1) * bm_hart_count);
}

int main(void) {
  BM_TEST(workgroups_are_shared);
  BM_TEST(whole_commands_take_turns);
  BM_TEST(barriers_keep_commands_apart);
  BM_TEST(copies_and_fills_are_whole);
  BM_TEST(hart_0_observes);
  BM_TEST(all_stop_when_a_kernel_fails);
  BM_TEST(a_failure_at_the_end_is_not_lost);
  BM_TEST(harts_tell_what_they_do);
  return bm_test_end();
}

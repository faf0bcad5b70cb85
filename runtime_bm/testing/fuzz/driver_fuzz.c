// Fuzzes what a generated driver computes at run time: the offsets that it
// passes to bm_driver_load, bm_driver_bind and bm_driver_bind_copy. Storage,
// lengths and alignments come from the compiler, so they are valid here.
//
// The fill and the copy of a small plan then use the bindings. If a check
// accepts a range outside the storage, the address sanitizer finds the access.
#include <stdbool.h>
#include <string.h>

#include "runtime_bm/bm.h"
#include "runtime_bm/plan/plan_driver.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  ARENA_BYTES = 512,
  FILL = 0,
  COPY = 1,
};

// Storage that the compiler gave to a tensor: all of it is in the arena.
typedef struct storage_t {
  uint32_t start;
  uint32_t size;
} storage_t;

static storage_t storage(fuzz_input_t *input) {
  const uint32_t start = fuzz_half(input) % (ARENA_BYTES + 1);
  const storage_t place = {start, fuzz_half(input) % (ARENA_BYTES - start + 1)};
  return place;
}

// Small as a rule, so that many offsets fit, and any 64 bits otherwise.
static uint64_t offset(fuzz_input_t *input) {
  uint64_t value = fuzz_half(input);
  if ((value & 0x8000) == 0) return value;
  for (uint32_t i = 0; i < 3; ++i) value = value << 16 | fuzz_half(input);
  return value;
}

static bool inside(const bm_plan_binding_t *binding, storage_t place) {
  return binding->offset >= place.start &&
         binding->offset - place.start + binding->length <= place.size;
}

static void load(const bm_plan_runner_t *runner, fuzz_input_t *input) {
  const storage_t place = storage(input);
  const uint32_t bytes = 1u << (fuzz_byte(input) & 3);
  const uint64_t at = offset(input);
  uint64_t value;
  const bm_status_t loaded = bm_driver_load(
      runner, BM_PLAN_REGION_ARENA, place.start, place.size, at, bytes, &value);
  const bool fits = at <= place.size && bytes <= place.size - at;
  FUZZ_ASSERT((loaded.bits == 0) == fits);
  FUZZ_ASSERT(loaded.bits != 0 || bytes == 8 || value >> (8 * bytes) == 0);
}

static void fill(const bm_plan_runner_t *runner, bm_plan_binding_t *bindings,
                 uint32_t *constants, fuzz_input_t *input) {
  const storage_t place = storage(input);
  constants[0] = fuzz_half(input);
  constants[1] = 1u << fuzz_byte(input) % 3;
  bindings[0].length = fuzz_byte(input) / constants[1] * constants[1];
  bindings[0].alignment = (uint16_t)constants[1];
  const bm_plan_binding_t before = bindings[0];
  if (bm_driver_bind(&bindings[0], place.start, place.size, offset(input))
          .bits == 0) {
    FUZZ_ASSERT(inside(&bindings[0], place));
    FUZZ_ASSERT(bindings[0].offset % constants[1] == 0);
    FUZZ_ASSERT(bm_plan_run(runner, FILL, 1).bits == 0);
  } else {
    FUZZ_ASSERT(memcmp(&before, &bindings[0], sizeof(before)) == 0);
  }
}

static void copy(const bm_plan_runner_t *runner, bm_plan_binding_t *bindings,
                 fuzz_input_t *input) {
  const storage_t source = storage(input);
  const storage_t target = storage(input);
  bindings[1].length = bindings[2].length = fuzz_byte(input);
  const uint64_t source_offset = offset(input);
  const bm_plan_binding_t before[2] = {bindings[1], bindings[2]};
  if (bm_driver_bind_copy(&bindings[1], source.start, source.size,
                          source_offset, target.start, target.size,
                          offset(input))
          .bits == 0) {
    FUZZ_ASSERT(inside(&bindings[1], source) && inside(&bindings[2], target));
    // The sanitizer also refuses a memcpy of ranges that overlap.
    FUZZ_ASSERT(bm_plan_run(runner, COPY, 1).bits == 0);
  } else {
    FUZZ_ASSERT(memcmp(before, &bindings[1], sizeof(before)) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bm_plan_command_t kCommands[] = {
      {.kind = BM_COMMAND_FILL, .binding_count = 1, .constant_count = 2},
      {.kind = BM_COMMAND_COPY, .binding_count = 2, .first_binding = 1},
  };
  bm_plan_binding_t bindings[3] = {
      {.access = BM_PLAN_ACCESS_WRITE},
      {.access = BM_PLAN_ACCESS_READ, .alignment = 1},
      {.access = BM_PLAN_ACCESS_WRITE, .alignment = 1},
  };
  uint32_t constants[2] = {0, 1};
  static const bm_plan_header_t kWithoutVectors = {0};
  static const bm_plan_t kPlan = {.header = &kWithoutVectors};
  bm_plan_runner_t runner = {.plan = &kPlan,
                             .commands = kCommands,
                             .bindings = bindings,
                             .constants = constants};
  uint8_t *arena = fuzz_memory(BM_PLAN_ALIGNMENT, ARENA_BYTES);
  memset(arena, 0xA5, ARENA_BYTES);
  runner.regions[BM_PLAN_REGION_ARENA] = arena;
  fuzz_input_t input = {data, size};
  while (input.size > 0) {
    const uint32_t call = fuzz_byte(&input) % 3;
    if (call == 0) load(&runner, &input);
    if (call == 1) fill(&runner, bindings, constants, &input);
    if (call == 2) copy(&runner, bindings, &input);
  }
  free(arena);
  return 0;
}

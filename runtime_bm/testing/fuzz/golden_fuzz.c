// Fuzzes golden data: passes it to bm_self_check_verify beside the fake model,
// and runs the cases of what that accepts. The model's tensors get the type and
// the rank that the input chooses, so that every comparison runs.
#include <stdbool.h>
#include <string.h>

#include "runtime_bm/app/self_check.h"
#include "runtime_bm/base/dtype.h"
#include "runtime_bm/testing/fake_model.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  MAX_RANK = 2,
  // What a case is called by, and the classes, exist for so many cases.
  MAX_CASES = 8,
  MAX_DATA_BLOCKS = 16,
};

static uint32_t fuzz_word(fuzz_input_t *input) {
  const uint32_t low = fuzz_half(input);
  return low | fuzz_half(input) << 16;
}

static float fuzz_float(fuzz_input_t *input) {
  const uint32_t bits = fuzz_word(input);
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static void choose_tensors(fake_tables_t *tables, fuzz_input_t *input) {
  const uint32_t dtype = 1 + fuzz_byte(input) % BM_DTYPE_F64;
  const uint32_t rank = fuzz_byte(input) % (MAX_RANK + 1);
  const uint32_t element = bm_dtype_bytes(dtype);
  const uint32_t elements = tables->inputs[0].length / element;
  tables->extents[0] = rank == 1 ? elements : 2;
  tables->extents[1] = elements / 2;
  bm_plan_tensor_t *tensors[] = {&tables->inputs[0], &tables->outputs[0]};
  for (uint32_t i = 0; i < 2; ++i) {
    tensors[i]->dtype = (uint8_t)dtype;
    tensors[i]->rank = (uint8_t)rank;
    if (rank == 0) tensors[i]->length = element;
  }
}

static bm_golden_output_t policy(fuzz_input_t *input) {
  const bm_golden_output_t chosen = {.policy = fuzz_byte(input) % 4,
                                     .atol = fuzz_float(input),
                                     .rtol = fuzz_float(input),
                                     .min_cosine = fuzz_float(input),
                                     .max_step = fuzz_word(input),
                                     .max_differing = fuzz_word(input)};
  return chosen;
}

static void check(const bm_plan_t *plan, const bm_golden_t *golden) {
  static _Alignas(BM_PLAN_ALIGNMENT) uint8_t arena[FAKE_ARENA_BYTES];
  const bm_span_t memory = {arena, sizeof(arena)};
  const bm_span_t no_code = {NULL, 0};
  if (bm_self_check_verify(plan, golden).bits != 0) return;
  const uint64_t tensor_bytes =
      bm_plan_inputs(plan)[0].length == FAKE_CASE_BYTES / 2
          ? FAKE_CASE_BYTES / 2
          : BM_GOLDEN_ALIGNMENT;
  FUZZ_ASSERT(golden->case_count * 2 * tensor_bytes == golden->data_bytes);
  bm_model_t model;
  bm_self_check_t found;
  memset(arena, 0, sizeof(arena));
  FUZZ_ASSERT(bm_model_init(&model, plan, memory, no_code).bits == 0);
  FUZZ_ASSERT(bm_self_check_run("fake", &model, golden, &found).bits == 0);
  FUZZ_ASSERT(found.bad <= golden->case_count);
  FUZZ_ASSERT(!found.ok || found.bad == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { HAS_CALLS = 1, HAS_LABELS = 2, ODD_SIZE = 4 };
  fuzz_input_t input = {data, size};
  const uint32_t choice = fuzz_byte(&input);
  fake_tables_t tables = fake_tables;
  choose_tensors(&tables, &input);
  const bm_plan_t plan = {.header = &tables.header,
                          .weights = (const uint8_t *)fake_weights,
                          .executables = &fake_executable};
  const bm_golden_output_t output = policy(&input);
  bm_golden_t golden = {.outputs = &output,
                        .framework_correct = fuzz_byte(&input)};
  golden.case_count = fuzz_word(&input);
  if (choice & (HAS_CALLS | HAS_LABELS)) golden.case_count %= MAX_CASES;
  golden.data_bytes =
      fuzz_byte(&input) % (MAX_DATA_BLOCKS + 1) * BM_GOLDEN_ALIGNMENT;
  if (choice & ODD_SIZE) golden.data_bytes += fuzz_byte(&input);

  // What a linked image promises: this many bytes are there, and a call and a
  // class for each case.
  uint8_t *bytes = fuzz_memory(BM_GOLDEN_ALIGNMENT, golden.data_bytes);
  bm_golden_call_t *calls = NULL;
  uint8_t *labels = NULL;
  if (choice & HAS_CALLS) {
    calls = fuzz_memory(8, golden.case_count * sizeof(*calls));
    for (uint32_t i = 0; i < golden.case_count; ++i) {
      const uint32_t call = fuzz_byte(&input);
      calls[i].entry = (uint16_t)(call >> 5);
      calls[i].reset = call & 1;
    }
  }
  if (choice & HAS_LABELS) {
    labels = fuzz_memory(8, golden.case_count * sizeof(uint32_t));
    memset(labels, fuzz_byte(&input) & 1, golden.case_count * sizeof(uint32_t));
  }
  for (uint32_t i = 0; i < golden.data_bytes; ++i) {
    bytes[i] = input.size == 0 ? 0 : input.data[i % input.size];
  }
  golden.data = bytes;
  golden.calls = calls;
  golden.labels = labels;
  check(&plan, &golden);
  free(labels);
  free(calls);
  free(bytes);
  return 0;
}

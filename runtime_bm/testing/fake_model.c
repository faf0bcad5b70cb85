#include "runtime_bm/testing/fake_model.h"

#include <stddef.h>

#define ROW8(f, i)                                                    \
  f((i)), f((i) + 1), f((i) + 2), f((i) + 3), f((i) + 4), f((i) + 5), \
      f((i) + 6), f((i) + 7)
#define ROW32(f, i) \
  ROW8(f, (i)), ROW8(f, (i) + 8), ROW8(f, (i) + 16), ROW8(f, (i) + 24)

#define TWO(i) 2.0f
#define HALF(i) ((float)(i) * 0.5f)
// Inputs of the two cases, and y = x * w + t for both halves of t.
#define X0(i) ((float)(i))
#define X1(i) ((float)(i) - 100.0f)
#define Y0_COPIED(i) (X0(i) * 2.0f + HALF(i))
#define Y0_FILLED(i) (X0(i) * 2.0f + 1.0f)
#define Y1_COPIED(i) (X1(i) * 2.0f + HALF(i))
#define Y1_FILLED(i) (X1(i) * 2.0f + 1.0f)

// w, then k, then 32 elements that nothing reads.
_Alignas(BM_PLAN_ALIGNMENT) const float fake_weights[] = {
    ROW32(TWO, 0), ROW32(TWO, 32), ROW32(HALF, 0), ROW32(HALF, 32)};

_Alignas(BM_GOLDEN_ALIGNMENT) const float fake_golden_data[] = {
    ROW32(X0, 0), ROW32(X0, 32), ROW32(Y0_COPIED, 0), ROW32(Y0_FILLED, 32),
    ROW32(X1, 0), ROW32(X1, 32), ROW32(Y1_COPIED, 0), ROW32(Y1_FILLED, 32)};

const bm_plan_export_t fake_exports[] = {
    {"fake_multiply", 3, 1},
    {"fake_add", 3, 1},
    {"fake_ids", 1, 0},
    {"fake_return", 0, 1},
};

// Where things are in the arena and in the weights.
enum {
  X = 0,
  T = 256,
  Y = 512,
  W = 0,
  K = 256,
};

const bm_plan_binding_t fake_bindings[] = {
    {BM_PLAN_REGION_ARENA, T, 256},    // fill
    {BM_PLAN_REGION_WEIGHTS, K, 128},  // copy
    {BM_PLAN_REGION_ARENA, T, 128},
    {BM_PLAN_REGION_ARENA, X, 256},  // multiply
    {BM_PLAN_REGION_WEIGHTS, W, 256},
    {BM_PLAN_REGION_ARENA, Y, 256},
    {BM_PLAN_REGION_ARENA, Y, 256},  // add
    {BM_PLAN_REGION_ARENA, T, 256},
    {BM_PLAN_REGION_ARENA, Y, 256},
};

const uint32_t fake_constants[] = {
    0x3F800000, 4,  // fill with 1.0f
    64,             // multiply: one workgroup
    16,             // add: four workgroups
};

const bm_plan_command_t fake_commands[] = {
    {.kind = BM_COMMAND_FILL,
     .binding_count = 1,
     .constant_count = 2,
     .first_binding = 0,
     .first_constant = 0},
    {.kind = BM_COMMAND_COPY,
     .flags = BM_COMMAND_BARRIER,
     .binding_count = 2,
     .first_binding = 1},
    {.kind = BM_COMMAND_DISPATCH,
     .ordinal = FAKE_MULTIPLY,
     .binding_count = 3,
     .constant_count = 1,
     .workgroup_count = {1, 1, 1},
     .first_binding = 3,
     .first_constant = 2},
    {.kind = BM_COMMAND_DISPATCH,
     .flags = BM_COMMAND_BARRIER,
     .ordinal = FAKE_ADD,
     .binding_count = 3,
     .constant_count = 1,
     .workgroup_count = {4, 1, 1},
     .first_binding = 6,
     .first_constant = 3},
};

static const uint32_t kShape[] = {2, 32};

const bm_plan_tensor_t fake_inputs[] = {{"x", kShape, BM_DTYPE_F32, 2, X, 256}};

const bm_plan_tensor_t fake_outputs[] = {
    {"y", kShape, BM_DTYPE_F32, 2, Y, 256}};

const bm_plan_entry_t fake_entries[] = {{.name = "main",
                                         .command_count = FAKE_COMMAND_COUNT,
                                         .input_count = 1,
                                         .output_count = 1}};

const bm_plan_t fake_plan = FAKE_PLAN(fake_weights, FAKE_ISA, 0);

static const bm_golden_output_t kPolicy[] = {{.policy = BM_GOLDEN_FLOAT,
                                              .atol = 1e-6f,
                                              .rtol = 0,
                                              .min_cosine = 0.99999f}};

const bm_golden_t fake_golden = {
    .case_count = FAKE_CASE_COUNT,
    .data = (const uint8_t *)fake_golden_data,
    .data_bytes = FAKE_CASE_COUNT * FAKE_CASE_BYTES,
    .outputs = kPolicy,
};

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

// Where things are in the arena and in the weights.
enum {
  X = 0,
  T = 256,
  Y = 512,
  W = 0,
  K = 256,
};

#define READ BM_PLAN_ACCESS_READ
#define WRITE BM_PLAN_ACCESS_WRITE

// Where the names begin in `strings`.
enum {
  FAKE = 0,
  NAME_MULTIPLY = 5,
  NAME_ADD = 19,
  NAME_IDS = 28,
  NAME_RETURN = 37,
  NAME_X = 49,
  NAME_Y = 51,
  NAME_MAIN = 53,
};

#define TABLES(plan_isa, plan_vlen_bits)                                 \
  {                                                                      \
      .header = {.abi_version = BM_PLAN_ABI_VERSION,                     \
                 .bytes = sizeof(fake_tables_t),                         \
                 .isa = (plan_isa),                                      \
                 .vlen_bits = (plan_vlen_bits),                          \
                 .arena_bytes = FAKE_ARENA_BYTES,                        \
                 .weights_bytes = FAKE_WEIGHTS_BYTES,                    \
                 .name = FAKE,                                           \
                 .executable_count = 1,                                  \
                 .exports = FAKE_TABLE(fake_tables_t, exports),          \
                 .commands = FAKE_TABLE(fake_tables_t, commands),        \
                 .bindings = FAKE_TABLE(fake_tables_t, bindings),        \
                 .constants = FAKE_TABLE(fake_tables_t, constants),      \
                 .inputs = FAKE_TABLE(fake_tables_t, inputs),            \
                 .outputs = FAKE_TABLE(fake_tables_t, outputs),          \
                 .extents = FAKE_TABLE(fake_tables_t, extents),          \
                 .entries = FAKE_TABLE(fake_tables_t, entries),          \
                 .strings = FAKE_TABLE(fake_tables_t, strings)},         \
      .exports =                                                         \
          {                                                              \
              {NAME_MULTIPLY, 0, FAKE_MULTIPLY, 3, 1},                   \
              {NAME_ADD, 0, FAKE_ADD, 3, 1},                             \
              {NAME_IDS, 0, FAKE_IDS, 1, 0},                             \
              {NAME_RETURN, 0, FAKE_RETURN, 0, 1},                       \
          },                                                             \
      .commands =                                                        \
          {                                                              \
              {.kind = BM_COMMAND_FILL,                                  \
               .binding_count = 1,                                       \
               .constant_count = 2,                                      \
               .first_binding = 0,                                       \
               .first_constant = 0},                                     \
              {.kind = BM_COMMAND_COPY,                                  \
               .flags = BM_COMMAND_BARRIER,                              \
               .binding_count = 2,                                       \
               .first_binding = 1},                                      \
              {.kind = BM_COMMAND_DISPATCH,                              \
               .export_index = FAKE_MULTIPLY,                            \
               .binding_count = 3,                                       \
               .constant_count = 1,                                      \
               .workgroup_count = {1, 1, 1},                             \
               .first_binding = 3,                                       \
               .first_constant = 2},                                     \
              {.kind = BM_COMMAND_DISPATCH,                              \
               .flags = BM_COMMAND_BARRIER,                              \
               .export_index = FAKE_ADD,                                 \
               .binding_count = 3,                                       \
               .constant_count = 1,                                      \
               .workgroup_count = {4, 1, 1},                             \
               .first_binding = 6,                                       \
               .first_constant = 3},                                     \
          },                                                             \
      .bindings =                                                        \
          {                                                              \
              {BM_PLAN_REGION_ARENA, WRITE, 4, T, 256},  /* fill */      \
              {BM_PLAN_REGION_WEIGHTS, READ, 1, K, 128}, /* copy */      \
              {BM_PLAN_REGION_ARENA, WRITE, 1, T, 128},                  \
              {BM_PLAN_REGION_ARENA, READ, 64, X, 256}, /* multiply */   \
              {BM_PLAN_REGION_WEIGHTS, READ, 64, W, 256},                \
              {BM_PLAN_REGION_ARENA, WRITE, 64, Y, 256},                 \
              {BM_PLAN_REGION_ARENA, READ, 64, Y, 256}, /* add */        \
              {BM_PLAN_REGION_ARENA, READ, 64, T, 256},                  \
              {BM_PLAN_REGION_ARENA, WRITE, 64, Y, 256},                 \
          },                                                             \
      .constants =                                                       \
          {                                                              \
              0x3F800000, 4, /* fill with 1.0f */                        \
              64,            /* multiply: one workgroup */               \
              16,            /* add: four workgroups */                  \
          },                                                             \
      .inputs = {{NAME_X, BM_DTYPE_F32, 2, 0, X, 256}},                  \
      .outputs = {{NAME_Y, BM_DTYPE_F32, 2, 0, Y, 256}},                 \
      .extents = {2, 32},                                                \
      .entries = {{.name = NAME_MAIN,                                    \
                   .driver = BM_PLAN_NO_DRIVER,                          \
                   .command_count = FAKE_COMMAND_COUNT,                  \
                   .input_count = 1,                                     \
                   .output_count = 1}},                                  \
      .strings =                                                         \
          "fake\0fake_multiply\0fake_add\0fake_ids\0fake_return\0x\0y\0" \
          "main",                                                        \
  }

const fake_tables_t fake_tables = TABLES(FAKE_ISA, 0);

static const fake_tables_t kVectorTables = TABLES(FAKE_ISA | BM_ISA_V, 256);

const bm_plan_executable_t fake_executable = {.library_query =
                                                  fake_library_query};

const bm_plan_t fake_plan = FAKE_PLAN(fake_weights);

const bm_plan_t fake_vector_plan = {.header = &kVectorTables.header,
                                    .weights = (const uint8_t *)fake_weights,
                                    .executables = &fake_executable};

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

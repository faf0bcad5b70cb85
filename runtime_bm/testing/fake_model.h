// A model made of the fake library's kernels, with golden data: what the
// compiler would emit, small enough to check by hand.
//
//   t = [k[0..32), 1, 1, ...]     FILL, then COPY from the weights
//   y = x * w + t                 two dispatches
//
// Input x f32[2,32], output y f32[2,32]; x[i] = i, w[i] = 2, k[i] = i / 2.
#ifndef RUNTIME_BM_TESTING_FAKE_MODEL_H_
#define RUNTIME_BM_TESTING_FAKE_MODEL_H_

#include "runtime_bm/app/golden.h"
#include "runtime_bm/plan/plan.h"
#include "runtime_bm/testing/fake_library.h"

BM_EXTERN_C_BEGIN

enum {
  FAKE_ELEMENTS = 64,
  FAKE_ARENA_BYTES = 768,
  FAKE_WEIGHTS_BYTES = 512,
  FAKE_COMMAND_COUNT = 4,
  FAKE_BINDING_COUNT = 9,
  FAKE_CONSTANT_COUNT = 4,
  FAKE_CASE_BYTES = 512,
  FAKE_CASE_COUNT = 2,
  FAKE_ENTRY_COUNT = 1,
  FAKE_STRINGS_BYTES = 58,
};

#if defined(__riscv) && __riscv_xlen == 32
#define FAKE_ISA BM_ISA_RV32
#elif defined(__riscv)
#define FAKE_ISA BM_ISA_RV64
#else
#define FAKE_ISA BM_ISA_X86_64
#endif

// The fake plan's header and tables. Tests change copies of it.
typedef struct fake_tables_t {
  bm_plan_header_t header;
  bm_plan_export_t exports[FAKE_EXPORT_COUNT];
  bm_plan_command_t commands[FAKE_COMMAND_COUNT];
  bm_plan_binding_t bindings[FAKE_BINDING_COUNT];
  uint32_t constants[FAKE_CONSTANT_COUNT];
  bm_plan_tensor_t inputs[1];
  bm_plan_tensor_t outputs[1];
  uint32_t extents[2];
  bm_plan_entry_t entries[FAKE_ENTRY_COUNT];
  char strings[FAKE_STRINGS_BYTES];
} fake_tables_t;

// A table of a plan, for its header: an array of a struct that begins with it.
#define FAKE_TABLE(type, field) \
  {offsetof(type, field),       \
   sizeof(((type *)0)->field) / sizeof(((type *)0)->field[0])}

extern const float fake_weights[FAKE_WEIGHTS_BYTES / 4];
extern const fake_tables_t fake_tables;
extern const bm_plan_executable_t fake_executable;
extern const float fake_golden_data[FAKE_CASE_COUNT * FAKE_CASE_BYTES / 4];

// Initializes a bm_plan_t of the fake model with other weights.
#define FAKE_PLAN(plan_weights)                \
  {.header = &fake_tables.header,              \
   .weights = (const uint8_t *)(plan_weights), \
   .executables = &fake_executable}

extern const bm_plan_t fake_plan;
// The same, for vectors of 256 bits.
extern const bm_plan_t fake_vector_plan;
extern const bm_golden_t fake_golden;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TESTING_FAKE_MODEL_H_

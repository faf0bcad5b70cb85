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
};

#if defined(__riscv) && __riscv_xlen == 32
#define FAKE_ISA BM_ISA_RV32
#elif defined(__riscv)
#define FAKE_ISA BM_ISA_RV64
#else
#define FAKE_ISA BM_ISA_X86_64
#endif

extern const float fake_weights[FAKE_WEIGHTS_BYTES / 4];
extern const bm_plan_export_t fake_exports[FAKE_EXPORT_COUNT];
extern const bm_plan_command_t fake_commands[FAKE_COMMAND_COUNT];
extern const bm_plan_binding_t fake_bindings[FAKE_BINDING_COUNT];
extern const uint32_t fake_constants[FAKE_CONSTANT_COUNT];
extern const bm_plan_tensor_t fake_inputs[1];
extern const bm_plan_tensor_t fake_outputs[1];
extern const bm_plan_entry_t fake_entries[FAKE_ENTRY_COUNT];
extern const float fake_golden_data[FAKE_CASE_COUNT * FAKE_CASE_BYTES / 4];

// Initializes a bm_plan_t of the fake model with other weights or another ISA.
#define FAKE_PLAN(plan_weights, plan_isa, plan_vlen_bits) \
  FAKE_PLAN_OF(fake_library_query, plan_weights, plan_isa, plan_vlen_bits)

// The same, also with other kernels.
#define FAKE_PLAN_OF(query, plan_weights, plan_isa, plan_vlen_bits) \
  {                                                                 \
      .abi_version = BM_PLAN_ABI_VERSION,                           \
      .isa = (plan_isa),                                            \
      .vlen_bits = (plan_vlen_bits),                                \
      .arena_bytes = FAKE_ARENA_BYTES,                              \
      .weights_bytes = FAKE_WEIGHTS_BYTES,                          \
      .name = "fake",                                               \
      .weights = (const uint8_t *)(plan_weights),                   \
      .library_query = (query),                                     \
      .exports = fake_exports,                                      \
      .export_count = FAKE_EXPORT_COUNT,                            \
      .commands = fake_commands,                                    \
      .command_count = FAKE_COMMAND_COUNT,                          \
      .bindings = fake_bindings,                                    \
      .binding_count = FAKE_BINDING_COUNT,                          \
      .constants = fake_constants,                                  \
      .constant_count = FAKE_CONSTANT_COUNT,                        \
      .inputs = fake_inputs,                                        \
      .input_count = 1,                                             \
      .outputs = fake_outputs,                                      \
      .output_count = 1,                                            \
      .entries = fake_entries,                                      \
      .entry_count = FAKE_ENTRY_COUNT,                              \
  }

extern const bm_plan_t fake_plan;
extern const bm_golden_t fake_golden;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TESTING_FAKE_MODEL_H_

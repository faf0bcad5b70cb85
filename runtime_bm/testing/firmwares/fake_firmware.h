// Defines what runtime_bm/app/main.c links against, for the fake model.
#ifndef RUNTIME_BM_TESTING_FIRMWARES_FAKE_FIRMWARE_H_
#define RUNTIME_BM_TESTING_FIRMWARES_FAKE_FIRMWARE_H_

#include "runtime_bm/app/firmware.h"
#include "runtime_bm/testing/fake_model.h"

// Once per firmware with one model, at file scope.
#define FAKE_FIRMWARE(plan_pointer, golden_pointer, isa_name)          \
  const bm_firmware_model_t bm_firmware_models[] = {                   \
      {"fake", (plan_pointer), {NULL, 0}}};                            \
  const bm_golden_t *const bm_firmware_goldens[] = {(golden_pointer)}; \
  FAKE_IMAGE(1, isa_name)

// The same, of the fake model with other kernels: four functions, by ordinal.
#define FAKE_KERNELS_FIRMWARE(...)                                          \
  static const void *query(uint32_t max_version, const void *environment) { \
    static const bm_abi_dispatch_fn_t kFunctions[FAKE_EXPORT_COUNT] = {     \
        __VA_ARGS__};                                                       \
    static bm_abi_library_t library;                                        \
    const bm_abi_library_t *fake =                                          \
        fake_library_query(max_version, environment);                       \
    if (fake == NULL) return NULL;                                          \
    library = *fake;                                                        \
    library.exports.functions = kFunctions;                                 \
    return &library;                                                        \
  }                                                                         \
  static const bm_plan_executable_t kKernels = {.library_query = query};    \
  static const bm_plan_t kPlan = {.header = &fake_tables.header,            \
                                  .weights = (const uint8_t *)fake_weights, \
                                  .executables = &kKernels};                \
  FAKE_FIRMWARE(&kPlan, &fake_golden, "any")

// The model-independent part: once per firmware, which has `count` models.
#define FAKE_IMAGE(count, isa_name)                              \
  const uint32_t bm_firmware_model_count = (count);              \
  const char bm_firmware_board[] = "test";                       \
  const char bm_firmware_isa[] = isa_name;                       \
  const bm_device_use_function_t bm_firmware_devices[] = {NULL}; \
  static uint8_t fake_arena[FAKE_ARENA_BYTES] BM_FIRMWARE_ARENA; \
  const bm_span_t bm_firmware_arena = {fake_arena, sizeof(fake_arena)}

#endif  // RUNTIME_BM_TESTING_FIRMWARES_FAKE_FIRMWARE_H_

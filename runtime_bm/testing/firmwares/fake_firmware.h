// Defines what runtime_bm/app/main.c links against, for the fake model.
#ifndef RUNTIME_BM_TESTING_FIRMWARES_FAKE_FIRMWARE_H_
#define RUNTIME_BM_TESTING_FIRMWARES_FAKE_FIRMWARE_H_

#include "runtime_bm/app/firmware.h"
#include "runtime_bm/testing/fake_model.h"

// Once per firmware, at file scope.
#define FAKE_FIRMWARE(plan_pointer, isa_name)                           \
  const bm_plan_t *const bm_firmware_plan = (plan_pointer);             \
  const bm_golden_t *const bm_firmware_golden = &fake_golden;           \
  const char bm_firmware_board[] = "test";                              \
  const char bm_firmware_isa[] = isa_name;                              \
  static uint8_t fake_arena[FAKE_ARENA_BYTES] BM_FIRMWARE_ARENA;        \
  const bm_span_t bm_firmware_arena = {fake_arena, sizeof(fake_arena)}; \
  const bm_span_t bm_firmware_code = {NULL, 0}

#endif  // RUNTIME_BM_TESTING_FIRMWARES_FAKE_FIRMWARE_H_

// Fuzzes the console of service firmware: whatever arrives, the service keeps
// to its buffers and the model's tensors, and every answer is a whole frame.
#include <string.h>

#include "runtime_bm/app/models.h"
#include "runtime_bm/app/service.h"
#include "runtime_bm/testing/fake_model.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

static _Alignas(BM_PLAN_ALIGNMENT) uint8_t arena[FAKE_ARENA_BYTES];
const bm_span_t bm_firmware_arena = {arena, sizeof(arena)};
// No answer has room for it.
static char long_name[BM_FRAME_PAYLOAD_BYTES + 1];
const bm_firmware_model_t bm_firmware_models[] = {
    {"fake", &fake_plan, {NULL, 0}},
    {long_name, &fake_plan, {NULL, 0}},
};
const uint32_t bm_firmware_model_count = 2;

static bm_service_t service;

static void take(uint8_t byte) {
  if (!bm_service_take(&service, byte)) return;
  static bm_frame_t read;
  const size_t size = bm_frame_bytes(&service.answer);
  FUZZ_ASSERT(size <= BM_FRAME_BYTES);
  for (size_t i = 0; i < size; ++i) {
    const bool whole = bm_frame_take(&read, service.answer.bytes[i]);
    // Nothing is known of a kind that there is not.
    FUZZ_ASSERT(whole == (i + 1 == size));
  }
}

// A frame whose sum is right, which random bytes would hardly have.
static void take_frame(fuzz_input_t *input) {
  static bm_frame_t frame;
  const uint32_t head = fuzz_byte(input);
  size_t size = head >> 4;
  // Now and then a long one.
  if (size == 15) size = fuzz_half(input) % (BM_FRAME_PAYLOAD_BYTES + 1);
  for (size_t i = 0; i < size; ++i) {
    bm_frame_payload(&frame)[i] = (uint8_t)fuzz_byte(input);
  }
  bm_frame_make(&frame, head & 7, (uint8_t)fuzz_byte(input), size);
  const size_t bytes = bm_frame_bytes(&frame);
  // Now and then with another size than it has.
  if (head & 8) bm_frame_put(frame.bytes + 4, fuzz_half(input), 2);
  for (size_t i = 0; i < bytes; ++i) take(frame.bytes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  memset(long_name, 'n', sizeof(long_name) - 1);
  memset(&service, 0, sizeof(service));
  memset(arena, 0, sizeof(arena));
  while (input.size != 0) {
    if (fuzz_byte(&input) & 1) {
      take_frame(&input);
    } else {
      take((uint8_t)fuzz_byte(&input));
    }
  }
  return 0;
}

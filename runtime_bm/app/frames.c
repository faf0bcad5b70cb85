#include "runtime_bm/app/frames.h"

#include "runtime_bm/base/hash.h"

static const uint8_t kMark[] = {0xB5, 0x4D};

static uint32_t sum(const bm_frame_t *frame) {
  const size_t size = bm_frame_size(frame) + BM_FRAME_BEGIN_BYTES;
  return (uint32_t)bm_hash(BM_HASH_SEED, frame->bytes + sizeof(kMark),
                           size - sizeof(kMark));
}

bool bm_frame_take(bm_frame_t *frame, uint8_t byte) {
  const size_t at = frame->received;
  if (at < sizeof(kMark) && byte != kMark[at]) {
    // The byte may begin a mark itself.
    frame->bytes[0] = byte;
    frame->received = byte == kMark[0] ? 1 : 0;
    return false;
  }
  frame->bytes[at] = byte;
  frame->received = at + 1;
  if (frame->received < BM_FRAME_BEGIN_BYTES) return false;
  const size_t size = bm_frame_size(frame);
  if (size > BM_FRAME_PAYLOAD_BYTES) {
    frame->received = 0;
    return false;
  }
  if (frame->received < bm_frame_bytes(frame)) return false;
  frame->received = 0;
  return sum(frame) ==
         bm_frame_get(bm_frame_payload(frame) + size, BM_FRAME_SUM_BYTES);
}

void bm_frame_make(bm_frame_t *frame, uint8_t kind, uint8_t number,
                   size_t size) {
  frame->bytes[0] = kMark[0];
  frame->bytes[1] = kMark[1];
  frame->bytes[2] = kind;
  frame->bytes[3] = number;
  bm_frame_put(frame->bytes + 4, size, 2);
  bm_frame_put(bm_frame_payload(frame) + size, sum(frame), BM_FRAME_SUM_BYTES);
}

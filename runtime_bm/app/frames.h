// Frames on the console: how a program on the build machine talks to service
// firmware. tools/service/frames.py is the other side.
//
//   0xB5 0x4D  kind  number  size:16  payload[size]  sum:32
//
// Numbers are little-endian. `sum` is the low half of the FNV-1a hash of what
// lies between the mark and itself. Bytes between frames are text for people:
// records of the console protocol.
#ifndef RUNTIME_BM_APP_FRAMES_H_
#define RUNTIME_BM_APP_FRAMES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

enum {
  BM_FRAME_PAYLOAD_BYTES = 1024,
  BM_FRAME_BEGIN_BYTES = 6,  // everything before the payload
  BM_FRAME_SUM_BYTES = 4,
  BM_FRAME_BYTES =
      BM_FRAME_BEGIN_BYTES + BM_FRAME_PAYLOAD_BYTES + BM_FRAME_SUM_BYTES,
};

// A frame, as it is on the line.
typedef struct bm_frame_t {
  size_t received;  // bytes so far
  uint8_t bytes[BM_FRAME_BYTES];
} bm_frame_t;

static inline uint8_t bm_frame_kind(const bm_frame_t *frame) {
  return frame->bytes[2];
}

// The sender counts its requests; an answer has the number of its request.
static inline uint8_t bm_frame_number(const bm_frame_t *frame) {
  return frame->bytes[3];
}

static inline size_t bm_frame_size(const bm_frame_t *frame) {
  return (size_t)frame->bytes[4] | (size_t)frame->bytes[5] << 8;
}

static inline uint8_t *bm_frame_payload(bm_frame_t *frame) {
  return frame->bytes + BM_FRAME_BEGIN_BYTES;
}

// Takes the next byte from the line. Returns true when it completes a frame;
// the next call begins another one. A frame with a wrong sum is dropped: its
// sender repeats what is not answered. Begin with zeros.
bool bm_frame_take(bm_frame_t *frame, uint8_t byte);

// Makes a frame of a payload that is in place already.
void bm_frame_make(bm_frame_t *frame, uint8_t kind, uint8_t number,
                   size_t size);

static inline size_t bm_frame_bytes(const bm_frame_t *frame) {
  return BM_FRAME_BEGIN_BYTES + bm_frame_size(frame) + BM_FRAME_SUM_BYTES;
}

// Little-endian numbers at any address.
static inline uint32_t bm_frame_get(const uint8_t *from, uint32_t bytes) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) value |= (uint32_t)from[i] << (8 * i);
  return value;
}

static inline void bm_frame_put(uint8_t *to, uint64_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) to[i] = (uint8_t)(value >> (8 * i));
}

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_FRAMES_H_

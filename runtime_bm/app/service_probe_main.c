// The main of service firmware (service.h) whose line is a debugger: it writes
// requests into memory and reads answers from there, between two instructions.
// So a board needs no console input. It ends only with the machine.
#include "runtime_bm/app/boot.h"
#include "runtime_bm/app/service.h"

// tools/service/probe.py finds it by its name. All of it is volatile:
// the debugger changes it and looks at it whenever the hart is halted.
typedef struct bm_mailbox_t {
  uint32_t written;  // bytes in `in`; 0 once they are taken
  uint32_t sent;     // bytes in `out`; 0 once they are read
  uint8_t in[BM_FRAME_BYTES];
  uint8_t out[BM_FRAME_BYTES];
} bm_mailbox_t;

volatile bm_mailbox_t bm_mailbox;

static void send(const bm_frame_t *answer) {
  const uint32_t bytes = (uint32_t)bm_frame_bytes(answer);
  for (uint32_t i = 0; i < bytes; ++i) bm_mailbox.out[i] = answer->bytes[i];
  bm_mailbox.sent = bytes;
}

int main(void) {
  static bm_service_t service;
  const int unfit = bm_boot();
  if (unfit != 0) return unfit;
  for (;;) {
    const uint32_t bytes = bm_mailbox.written;
    for (uint32_t i = 0; i < bytes && i < BM_FRAME_BYTES; ++i) {
      if (bm_service_take(&service, bm_mailbox.in[i])) send(&service.answer);
    }
    if (bytes != 0) bm_mailbox.written = 0;
  }
}

// Service firmware: runs a model on inputs that arrive over the console, and
// sends its outputs back. frames.h is the form of requests and answers.
//
// The payload of an answer begins with a status word. What follows, if it is 0:
//
//   OPEN   model:16            -> inputs:16 outputs:16, then bytes:32 of each,
//                                 inputs first, and the model's name
//   ENTRY  name                -> the same of that entry point, and its name
//   RESET                                  -> nothing
//   WRITE  input:16 offset:32 data         -> nothing
//   RUN                                    -> instret:64 cycles:64
//   RUN    first:32 count:32               -> the same of these commands
//   READ   output:16 offset:32 size:16     -> data
//   PEEK   region:16 offset:32 size:16     -> data
//
// OPEN initializes a model and begins anew, whatever was before: with the first
// entry point, in the initial state. ENTRY chooses another and keeps the state,
// RESET restores the initial one. A run may overwrite its inputs, so all of
// them are written before each run. RUN of commands stops between two of the
// entry point's, and PEEK reads what they have written so far
// (bm_plan_binding_t). A request that is repeated with the same number is not
// executed again: its answer is sent once more, because it may have been lost.
// Any other kind, such as 0, is refused at once. So a client learns that
// service firmware is there, without waiting for a model.
#ifndef RUNTIME_BM_APP_SERVICE_H_
#define RUNTIME_BM_APP_SERVICE_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/app/frames.h"
#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

// bm_frame_kind of a request. Its answer has the same kind.
enum {
  BM_SERVICE_OPEN = 1,
  BM_SERVICE_WRITE = 2,
  BM_SERVICE_RUN = 3,
  BM_SERVICE_READ = 4,
  BM_SERVICE_ENTRY = 5,
  BM_SERVICE_RESET = 6,
  BM_SERVICE_PEEK = 7,
};

typedef struct bm_service_t {
  bm_model_t model;
  bool is_open;
  bm_frame_t request;
  bm_frame_t answer;  // to the last request
} bm_service_t;

// Takes the next byte from the line. Returns true when `answer` is to be sent.
// Begin with zeros.
bool bm_service_take(bm_service_t *service, uint8_t byte);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_SERVICE_H_

// The device's side of the serial protocol with which MLPerf Tiny's runners
// (EEMBC's EnergyRunner, and the one in mlcommons/tiny) measure a board.
//
// Commands end with '%', and m-ready ends every answer. What cannot be done
// gets e-[...] and changes nothing, so a runner may go on from there. Carriage
// returns and newlines are ignored, so a person may type, too.
#ifndef EXAMPLES_MLPERF_TINY_PROTOCOL_H_
#define EXAMPLES_MLPERF_TINY_PROTOCOL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/status.h"

// The longest command, without its '%'.
enum { MLPERF_COMMAND_BYTES = 80 };

// What is measured, and what it runs on.
typedef struct mlperf_device_t {
  const char *model;  // the benchmark's name: "kws01"
  uint8_t *input;     // what the runner sends
  size_t input_bytes;
  uint32_t result_count;
  // Prepares inferences on `input`, which is complete.
  bm_status_t (*load)(void);
  // Runs the model once; all of this is measured.
  bm_status_t (*infer)(void);
  // Returns a result of the last inference; `index` is below `result_count`.
  double (*result)(uint32_t index);
  // The time since some point before.
  uint64_t (*microseconds)(void);
  void (*write)(const char *bytes, size_t size);
} mlperf_device_t;

typedef struct mlperf_protocol_t {
  const mlperf_device_t *device;
  size_t expected;  // by `db load`; 0: nothing yet
  size_t loaded;    // of these
  bool has_results;
  bool too_long;  // the command; its end is awaited
  size_t size;    // of the command so far
  char command[MLPERF_COMMAND_BYTES + 1];
} mlperf_protocol_t;

// Says that the device is ready. `device` must outlive the protocol.
void mlperf_start(mlperf_protocol_t *protocol, const mlperf_device_t *device);

// Takes the next byte from the line, and executes the command that it ends.
void mlperf_receive(mlperf_protocol_t *protocol, uint8_t byte);

#endif  // EXAMPLES_MLPERF_TINY_PROTOCOL_H_

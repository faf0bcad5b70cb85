// One of the benchmarks of MLPerf Tiny: docs/how-to/mlperf-tiny.md explains it.
// defs.bzl defines MLPERF_MODEL, the benchmark's name, and what differs between
// the benchmarks.
#include "examples/mlperf_tiny/protocol.h"
#include "runtime_bm/app/models.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/quantize.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/hal/application.h"
#include "runtime_bm/hal/hal.h"

// For BM_CHECK.
#define BM_FILE BM_FILE_APPLICATION

// What the runner sends.
enum {
  MLPERF_F32,     // real numbers
  MLPERF_I8,      // what the model takes
  MLPERF_PIXELS,  // bytes from 0 to 255, which the model takes as -128 to 127
};

// A model that reconstructs its input: the result is how badly it does.
enum { RECONSTRUCTS = MLPERF_INPUT == MLPERF_F32 };

enum {
  ELEMENT_BYTES = MLPERF_INPUT == MLPERF_F32 ? 4 : 1,
  RESULTS = RECONSTRUCTS ? 1 : MLPERF_OUTPUT_ELEMENTS,
};

static _Alignas(float) uint8_t received[MLPERF_INPUT_ELEMENTS * ELEMENT_BYTES];
// The same for the model. A run may overwrite its input, so this is copied
// there before each.
static int8_t prepared[MLPERF_INPUT_ELEMENTS];

static bm_model_t model;
static bm_tensor_t input;
static bm_tensor_t output;

static float received_f32(uint32_t index) {
  float value;
  memcpy(&value, &received[index * sizeof(value)], sizeof(value));
  return value;
}

static bm_status_t load(void) {
  for (uint32_t i = 0; i < MLPERF_INPUT_ELEMENTS; ++i) {
    if (MLPERF_INPUT == MLPERF_F32) {
      prepared[i] = bm_quantize_i8(received_f32(i), MLPERF_INPUT_SCALE,
                                   MLPERF_INPUT_ZERO_POINT);
    } else {
      const uint8_t flip = MLPERF_INPUT == MLPERF_PIXELS ? 0x80 : 0;
      prepared[i] = (int8_t)(received[i] ^ flip);
    }
  }
  return bm_ok();
}

static bm_status_t infer(void) {
  memcpy(input.data, prepared, sizeof(prepared));
  return bm_model_run(&model);
}

static double output_at(uint32_t index) {
  return bm_dequantize(((const int8_t *)output.data)[index],
                       MLPERF_OUTPUT_SCALE, MLPERF_OUTPUT_ZERO_POINT);
}

static double result(uint32_t index) {
  if (!RECONSTRUCTS) return output_at(index);
  double sum = 0;
  for (uint32_t i = 0; i < MLPERF_INPUT_ELEMENTS; ++i) {
    const double difference = output_at(i) - (double)received_f32(i);
    sum += difference * difference;
  }
  return sum / MLPERF_INPUT_ELEMENTS;
}

static uint64_t microseconds(void) {
  const uint64_t time = bm_hal_time();
  const uint64_t hz = bm_hal_time_hz();
  return time / hz * 1000000 + time % hz * 1000000 / hz;
}

static bm_status_t start(void) {
  BM_TRY(bm_firmware_init(&bm_firmware_models[0], &model));
  BM_TRY(bm_model_input(&model, 0, &input));
  BM_TRY(bm_model_output(&model, 0, &output));
  // Is it the benchmark's model, in int8?
  BM_CHECK(input.dtype == BM_DTYPE_I8 && input.bytes == MLPERF_INPUT_ELEMENTS,
           INVALID_ARGUMENT);
  BM_CHECK(
      output.dtype == BM_DTYPE_I8 && output.bytes == MLPERF_OUTPUT_ELEMENTS,
      INVALID_ARGUMENT);
  return bm_ok();
}

int main(void) {
  static const mlperf_device_t kDevice = {.model = MLPERF_MODEL,
                                          .input = received,
                                          .input_bytes = sizeof(received),
                                          .result_count = RESULTS,
                                          .load = load,
                                          .infer = infer,
                                          .result = result,
                                          .microseconds = microseconds,
                                          .write = bm_hal_console_write};
  static mlperf_protocol_t protocol;
  bm_hal_init();
  const bm_status_t status = start();
  if (!bm_status_is_ok(status)) {
    bm_text_t line;
    bm_text_clear(&line);
    bm_text_string(&line, "e-[The model cannot be used: ");
    bm_status_text(&line, status);
    bm_text_string(&line, "]\r\n");
    bm_hal_console_write(line.bytes, line.size);
    return 1;
  }
  mlperf_start(&protocol, &kDevice);
  for (;;) {
    const int32_t byte = bm_hal_console_read();
    if (byte >= 0) mlperf_receive(&protocol, (uint8_t)byte);
  }
}

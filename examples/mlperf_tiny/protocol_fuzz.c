// Fuzzes the serial line: whatever arrives, the protocol keeps to its buffers,
// answers each command, and never measures an incomplete input.
#include <string.h>

#include "examples/mlperf_tiny/protocol.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  INPUT_BYTES = 7,
  // Only these run: a command may ask for a billion.
  MOST_INFERENCES = 100,
};

static mlperf_protocol_t protocol;
static uint8_t *input;
static uint32_t inferences;
static size_t ready;

static bm_status_t load(void) {
  FUZZ_ASSERT(protocol.loaded == INPUT_BYTES);
  inferences = 0;
  return bm_ok();
}

static bm_status_t infer(void) {
  if (++inferences <= MOST_INFERENCES) return bm_ok();
  return bm_status_make(BM_CODE_INTERNAL, BM_FILE_APPLICATION, 1);
}

static double result(uint32_t index) { return input[index] / 3.0; }

static uint64_t microseconds(void) { return inferences; }

static void write(const char *bytes, size_t size) {
  static const char kReady[] = "m-ready\r\n";
  for (size_t i = 0; i < size; ++i) {
    const uint8_t byte = (uint8_t)bytes[i];
    FUZZ_ASSERT(byte == '\r' || byte == '\n' || (byte >= ' ' && byte <= '~'));
  }
  ready += size == sizeof(kReady) - 1 && memcmp(bytes, kReady, size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const mlperf_device_t kDevice = {.model = "kws01",
                                          .input_bytes = INPUT_BYTES,
                                          .result_count = INPUT_BYTES,
                                          .load = load,
                                          .infer = infer,
                                          .result = result,
                                          .microseconds = microseconds,
                                          .write = write};
  mlperf_device_t device = kDevice;
  device.input = input = fuzz_memory(8, INPUT_BYTES);
  memset(input, 0, INPUT_BYTES);
  ready = 0;
  mlperf_start(&protocol, &device);
  size_t commands = 1;
  for (size_t i = 0; i < size; ++i) {
    mlperf_receive(&protocol, data[i]);
    commands += data[i] == '%';
    FUZZ_ASSERT(ready == commands);
    FUZZ_ASSERT(protocol.loaded <= protocol.expected);
    FUZZ_ASSERT(protocol.expected <= INPUT_BYTES);
  }
  free(input);
  return 0;
}

#include "examples/mlperf_tiny/protocol.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"

enum { INPUT_BYTES = 12, SAID_BYTES = 1024 };

static mlperf_protocol_t protocol;
static uint8_t input[INPUT_BYTES];
static char said[SAID_BYTES];
static size_t said_bytes;
static uint32_t loads;
static uint32_t inferences;
static bool fails;
static uint64_t now;

static bm_status_t load(void) {
  ++loads;
  return bm_ok();
}

static bm_status_t infer(void) {
  ++inferences;
  now += 1500;
  return fails ? bm_status_make(BM_CODE_INTERNAL, BM_FILE_APPLICATION, 7)
               : bm_ok();
}

static double result(uint32_t index) { return (double)input[index] / 256; }

static uint64_t microseconds(void) { return now; }

static void write(const char *bytes, size_t size) {
  for (size_t i = 0; i < size && said_bytes < SAID_BYTES; ++i) {
    said[said_bytes++] = bytes[i];
  }
}

static const mlperf_device_t kDevice = {.model = "kws01",
                                        .input = input,
                                        .input_bytes = INPUT_BYTES,
                                        .result_count = 2,
                                        .load = load,
                                        .infer = infer,
                                        .result = result,
                                        .microseconds = microseconds,
                                        .write = write};

static void type(const char *text) {
  for (; *text != '\0'; ++text) mlperf_receive(&protocol, (uint8_t)*text);
}

// Whether exactly this was written since the last question.
static bool answers(const char *want) {
  size_t size = 0;
  while (want[size] != '\0') ++size;
  const bool equal = said_bytes == size && memcmp(said, want, size) == 0;
  said_bytes = 0;
  return equal;
}

static bool answer(const char *command, const char *want) {
  said_bytes = 0;
  type(command);
  return answers(want);
}

static void restart(void) {
  for (uint32_t i = 0; i < INPUT_BYTES; ++i) input[i] = 0;
  loads = inferences = 0;
  fails = false;
  now = 42;
  mlperf_start(&protocol, &kDevice);
  said_bytes = 0;
}

static void load_input(void) {
  type("db load 12%db 000102030405060708090a0b%");
  said_bytes = 0;
}

static void the_device_introduces_itself(void) {
  restart();
  mlperf_start(&protocol, &kDevice);
  BM_EXPECT(
      answers("m-timestamp-mode-performance\r\nm-lap-us-42\r\n"
              "m-init-done\r\nm-ready\r\n"));
  BM_EXPECT(answer("name%", "m-name-dut-[ironcast]\r\nm-ready\r\n"));
  BM_EXPECT(answer("profile%",
                   "m-profile-[ULPMark for tinyML Firmware V0.0.1]\r\n"
                   "m-model-[kws01]\r\nm-ready\r\n"));
  BM_EXPECT(answer("timestamp%", "m-lap-us-42\r\nm-ready\r\n"));
  type("help%");
  BM_EXPECT(said_bytes > 100 && said[0] == 'n');
}

static void bytes_arrive_in_any_pieces(void) {
  restart();
  BM_EXPECT(answer("db load 12%", "m-[Expecting 12 bytes]\r\nm-ready\r\n"));
  BM_EXPECT(answer("db 00010203040506070809%", "m-ready\r\n"));
  BM_EXPECT(answer("db fF%", "m-ready\r\n"));
  BM_EXPECT(answer("db 10%", "m-load-done\r\nm-ready\r\n"));
  BM_EXPECT(answer("db print%",
                   "m-buffer-00-01-02-03-04-05-06-07\r\n"
                   "m-buffer-08-09-ff-10\r\nm-ready\r\n"));
  BM_EXPECT_EQ(input[10], 0xFF);
}

static void inferences_are_counted_and_timed(void) {
  restart();
  load_input();
  BM_EXPECT(answer("infer 3 2%",
                   "m-warmup-start-2\r\nm-warmup-done\r\nm-infer-start-3\r\n"
                   "m-lap-us-3042\r\nm-lap-us-7542\r\nm-infer-done\r\n"
                   "m-results-[0.00000000,0.00390625]\r\nm-ready\r\n"));
  BM_EXPECT_EQ(inferences, 5);
  BM_EXPECT_EQ(loads, 1);
  BM_EXPECT(
      answer("results%", "m-results-[0.00000000,0.00390625]\r\nm-ready\r\n"));
  type("infer%");
  BM_EXPECT_EQ(inferences, 5 + 1 + 10);
  type("infer 1 0%");
  BM_EXPECT_EQ(inferences, 5 + 1 + 10 + 1);
}

static void a_persons_line_ends_are_ignored(void) {
  restart();
  BM_EXPECT(answer("\r\nname%\r\n", "m-name-dut-[ironcast]\r\nm-ready\r\n"));
  BM_EXPECT(answer("  name  %", "m-name-dut-[ironcast]\r\nm-ready\r\n"));
}

static void unknown_commands_are_refused(void) {
  restart();
  BM_EXPECT(answer("nam%", "e-[Unknown command: nam]\r\nm-ready\r\n"));
  BM_EXPECT(answer("names%", "e-[Unknown command: names]\r\nm-ready\r\n"));
  BM_EXPECT(answer("%", "e-[Unknown command: ]\r\nm-ready\r\n"));
  BM_EXPECT(
      answer("\x1b[2J\xff\x01%", "e-[Unknown command: ?[2J??]\r\nm-ready\r\n"));
}

static void a_command_has_a_longest_length(void) {
  restart();
  type("db load 12%");
  for (uint32_t size = 79; size <= 200; ++size) {
    said_bytes = 0;
    type("db ");
    for (uint32_t i = 3; i < size; ++i) type("0");
    type("%");
    if (size == 79) {
      BM_EXPECT(
          answers("e-[More bytes than the 12 that 'db load' announced]"
                  "\r\nm-ready\r\n"));
    } else if (size == 80) {
      BM_EXPECT(
          answers("e-[Insufficient number of hex digits]\r\nm-ready\r\n"));
    } else {
      BM_EXPECT(
          answers("e-[A command has at most 80 characters]\r\n"
                  "m-ready\r\n"));
    }
  }
  BM_EXPECT(answer("name%", "m-name-dut-[ironcast]\r\nm-ready\r\n"));
}

static void wrong_bytes_are_refused_and_lose_nothing(void) {
  restart();
  BM_EXPECT(answer("db 00%",
                   "e-[More bytes than the 0 that 'db load' announced]\r\n"
                   "m-ready\r\n"));
  type("db load 12%db 000102%");
  BM_EXPECT(answer("db 030%",
                   "e-[Insufficient number of hex digits]\r\nm-ready\r\n"));
  BM_EXPECT(answer("db 03g4%", "e-[Invalid hex digit 'g']\r\nm-ready\r\n"));
  BM_EXPECT(
      answer("db%", "e-['db' needs 'load', 'print' or bytes]\r\nm-ready\r\n"));
  BM_EXPECT(answer("db 03030303030303030303%",
                   "e-[More bytes than the 12 that 'db load' announced]\r\n"
                   "m-ready\r\n"));
  BM_EXPECT(answer("db load 13%",
                   "e-[The input has at most 12 bytes]\r\nm-ready\r\n"));
  static const char *const kNoNumbers[] = {
      "db load%",      "db load 0%",          "db load -1%",
      "db load 0x10%", "db load 4294967308%", "db load 12z%"};
  for (uint32_t i = 0; i < sizeof(kNoNumbers) / sizeof(kNoNumbers[0]); ++i) {
    BM_EXPECT(answer(kNoNumbers[i],
                     "e-['db load' needs a number of bytes, at least 1]\r\n"
                     "m-ready\r\n"));
  }
  BM_EXPECT(answer("db 030405060708090a0b%", "m-load-done\r\nm-ready\r\n"));
  for (uint32_t i = 0; i < INPUT_BYTES; ++i) BM_EXPECT_EQ(input[i], i);
}

static void an_incomplete_input_is_not_measured(void) {
  restart();
  static const char kRefused[] =
      "e-[The input must have 12 bytes]\r\nm-ready\r\n";
  BM_EXPECT(answer("infer 1%", kRefused));
  type("db load 12%db 0001%");
  BM_EXPECT(answer("infer 1%", kRefused));
  type("db load 2%db 0001%");
  BM_EXPECT(answer("infer 1%", kRefused));
  BM_EXPECT(
      answer("results%", "e-[No results: 'infer' comes first]\r\nm-ready\r\n"));
  BM_EXPECT_EQ(inferences, 0);
}

static void wrong_counts_are_refused(void) {
  restart();
  load_input();
  static const char *const kCounts[] = {"infer 0%", "infer -1%", "infer x%",
                                        "infer 9999999999%"};
  for (uint32_t i = 0; i < sizeof(kCounts) / sizeof(kCounts[0]); ++i) {
    BM_EXPECT(answer(kCounts[i],
                     "e-[The number of inferences must be at least 1]\r\n"
                     "m-ready\r\n"));
  }
  BM_EXPECT(answer("infer 1 -1%",
                   "e-[The number of warmups must be a number]\r\n"
                   "m-ready\r\n"));
  BM_EXPECT_EQ(inferences, 0);
}

static void a_failed_inference_has_no_results(void) {
  restart();
  load_input();
  type("infer 1 0%");
  fails = true;
  BM_EXPECT(answer("infer 1 0%",
                   "m-warmup-start-0\r\nm-warmup-done\r\nm-infer-start-1\r\n"
                   "m-lap-us-1542\r\n"
                   "e-[The inference failed: 0xff00700d: INTERNAL (a kernel "
                   "reported an error) at the application:7]\r\nm-ready\r\n"));
  BM_EXPECT(
      answer("results%", "e-[No results: 'infer' comes first]\r\nm-ready\r\n"));
}

int main(void) {
  BM_TEST(the_device_introduces_itself);
  BM_TEST(bytes_arrive_in_any_pieces);
  BM_TEST(inferences_are_counted_and_timed);
  BM_TEST(a_persons_line_ends_are_ignored);
  BM_TEST(unknown_commands_are_refused);
  BM_TEST(a_command_has_a_longest_length);
  BM_TEST(wrong_bytes_are_refused_and_lose_nothing);
  BM_TEST(an_incomplete_input_is_not_measured);
  BM_TEST(wrong_counts_are_refused);
  BM_TEST(a_failed_inference_has_no_results);
  return bm_test_end();
}

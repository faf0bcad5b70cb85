// Tests the service as a program on the other side of the line sees it: bytes
// in, bytes out.
#include "runtime_bm/app/service.h"

#include "runtime_bm/app/firmware.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/exec/call.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_model.h"

// The fake model, the same with a linked function that fails, and the same with
// a name that no answer has room for.
enum { FAKE, LINKED, LONG, MODEL_COUNT };
static char long_name[BM_FRAME_PAYLOAD_BYTES + 1];
static bm_plan_t linked_plan;
// The table that the build would generate.
const bm_firmware_model_t bm_firmware_models[] = {
    [FAKE] = {"fake", &fake_plan, {NULL, 0}},
    [LINKED] = {"linked", &linked_plan, {NULL, 0}},
    [LONG] = {long_name, &fake_plan, {NULL, 0}},
};
const uint32_t bm_firmware_model_count = MODEL_COUNT;
static uint8_t arena[FAKE_ARENA_BYTES] BM_FIRMWARE_ARENA;
const bm_span_t bm_firmware_arena = {arena, sizeof(arena)};

enum {
  MODEL_BYTES = FAKE_ELEMENTS * 4,
  STATUS_BYTES = 4,
};

static bm_service_t service;
static bm_frame_t line;

// Sends what is in `line`; returns how often the service answered.
static uint32_t send(size_t bytes) {
  uint32_t answers = 0;
  for (size_t i = 0; i < bytes; ++i) {
    answers += bm_service_take(&service, line.bytes[i]);
  }
  return answers;
}

static uint32_t request(uint8_t kind, uint8_t number, size_t size) {
  bm_frame_make(&line, kind, number, size);
  return send(bm_frame_bytes(&line));
}

static bm_status_t status(void) {
  const bm_status_t found = {
      bm_frame_get(bm_frame_payload(&service.answer), STATUS_BYTES)};
  return found;
}

static const uint8_t *data(void) {
  return bm_frame_payload(&service.answer) + STATUS_BYTES;
}

static size_t data_size(void) {
  return bm_frame_size(&service.answer) - STATUS_BYTES;
}

static void open_model(uint32_t index) {
  bm_frame_put(bm_frame_payload(&line), index, 2);
  BM_EXPECT_EQ(request(BM_SERVICE_OPEN, 0, 2), 1);
  BM_EXPECT_OK(status());
}

static void open(void) { open_model(FAKE); }

static void write(uint8_t number, uint32_t input, uint32_t offset,
                  const void *bytes, size_t size) {
  uint8_t *payload = bm_frame_payload(&line);
  bm_frame_put(payload, input, 2);
  bm_frame_put(payload + 2, offset, 4);
  memcpy(payload + 6, bytes, size);
  BM_EXPECT_EQ(request(BM_SERVICE_WRITE, number, 6 + size), 1);
}

// Sends a READ or PEEK.
static void ask(uint8_t kind, uint8_t number, uint32_t of, uint32_t offset,
                uint32_t size) {
  uint8_t *payload = bm_frame_payload(&line);
  bm_frame_put(payload, of, 2);
  bm_frame_put(payload + 2, offset, 4);
  bm_frame_put(payload + 6, size, 2);
  BM_EXPECT_EQ(request(kind, number, 8), 1);
}

static void read(uint8_t number, uint32_t output, uint32_t offset,
                 uint32_t size) {
  ask(BM_SERVICE_READ, number, output, offset, size);
}

static void says_what_it_has(void) {
  open();
  BM_EXPECT_EQ(data_size(), 2 + 2 + 4 + 4 + 4);
  BM_EXPECT_EQ(bm_frame_get(data(), 2), 1);
  BM_EXPECT_EQ(bm_frame_get(data() + 2, 2), 1);
  BM_EXPECT_EQ(bm_frame_get(data() + 4, 4), MODEL_BYTES);
  BM_EXPECT_EQ(bm_frame_get(data() + 8, 4), MODEL_BYTES);
  BM_EXPECT(memcmp(data() + 12, "fake", 4) == 0);
}

static void computes_what_it_is_sent(void) {
  float values[FAKE_ELEMENTS];
  for (uint32_t i = 0; i < FAKE_ELEMENTS; ++i) values[i] = 3;
  open();
  // In two parts, of which the second is sent first.
  write(1, 0, MODEL_BYTES / 2, values, MODEL_BYTES / 2);
  BM_EXPECT_OK(status());
  write(2, 0, 0, values, MODEL_BYTES / 2);
  BM_EXPECT_OK(status());
  BM_EXPECT_EQ(request(BM_SERVICE_RUN, 3, 0), 1);
  BM_EXPECT_OK(status());
  BM_EXPECT_EQ(data_size(), 16);
  read(4, 0, 8, 4);
  BM_EXPECT_OK(status());
  float found = 0;
  memcpy(&found, data(), sizeof(found));
  BM_EXPECT(found == 7);  // y = 2x + i / 2
}

static void run_commands(uint8_t number, uint32_t first, uint32_t count) {
  bm_frame_put(bm_frame_payload(&line), first, 4);
  bm_frame_put(bm_frame_payload(&line) + 4, count, 4);
  BM_EXPECT_EQ(request(BM_SERVICE_RUN, number, 8), 1);
}

// Sends a PEEK; returns the number that its answer begins with.
static float peek(uint8_t number, uint32_t region, uint32_t offset) {
  ask(BM_SERVICE_PEEK, number, region, offset, 4);
  float found = 0;
  memcpy(&found, data(), sizeof(found));
  return found;
}

static void stops_between_commands(void) {
  enum { Y = 512 + 8, K = 256 + 8, BEFORE_ADD = 3 };
  const float three = 3;
  open();
  write(1, 0, 8, &three, sizeof(three));
  run_commands(2, 0, BEFORE_ADD);
  BM_EXPECT_OK(status());
  // y = 2x; the copied i / 2 has not been added yet.
  BM_EXPECT(peek(3, BM_PLAN_REGION_ARENA, Y) == 6);
  BM_EXPECT(peek(4, BM_PLAN_REGION_WEIGHTS, K) == 1);
  run_commands(5, BEFORE_ADD, 1);
  BM_EXPECT_OK(status());
  BM_EXPECT(peek(6, BM_PLAN_REGION_ARENA, Y) == 7);
  run_commands(7, BEFORE_ADD, 2);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  run_commands(8, FAKE_COMMAND_COUNT + 1, 0);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  peek(9, BM_PLAN_REGION_ARENA, FAKE_ARENA_BYTES - 3);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  peek(10, BM_PLAN_REGION_STATE, 0);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  // There is no state, and nothing of it can be read.
  ask(BM_SERVICE_PEEK, 11, BM_PLAN_REGION_STATE, 0, 0);
  BM_EXPECT_OK(status());
  BM_EXPECT_EQ(data_size(), 0);
  peek(12, BM_PLAN_REGION_FAST, 0);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  peek(13, BM_PLAN_REGION_COUNT, 0);
  BM_EXPECT_CODE(status(), INVALID_ARGUMENT);
}

BM_CALL(fails) {
  BM_CALL_BEGIN();
  (void)bm_call_state;
  return 1;
}

static uint32_t waits;
static bm_status_t count_wait(void) {
  ++waits;
  return bm_ok();
}

static void waits_also_after_a_failure(void) {
  static const bm_plan_function_t kFunctions[] = {(bm_plan_function_t)fails};
  static const void *table[FAKE_EXPORT_COUNT];
  static fake_tables_t tables;
  tables = fake_tables;
  tables.header.function_count = 1;
  tables.exports[FAKE_MULTIPLY].executable = BM_PLAN_LINKED;
  tables.exports[FAKE_MULTIPLY].ordinal = 0;
  linked_plan = fake_plan;
  linked_plan.header = &tables.header;
  linked_plan.functions = kFunctions;
  linked_plan.table = table;
  linked_plan.wait = count_wait;
  open_model(LINKED);
  run_commands(1, 0, 1);
  BM_EXPECT_OK(status());
  BM_EXPECT_EQ(waits, 1);
  run_commands(2, 0, FAKE_COMMAND_COUNT);
  BM_EXPECT_CODE(status(), INTERNAL);
  BM_EXPECT_EQ(waits, 2);
}

static void finds_an_entry_point(void) {
  open();
  memcpy(bm_frame_payload(&line), "main", 4);
  BM_EXPECT_EQ(request(BM_SERVICE_ENTRY, 1, 4), 1);
  BM_EXPECT_OK(status());
  BM_EXPECT_EQ(data_size(), 2 + 2 + 4 + 4 + 4);
  BM_EXPECT(memcmp(data() + 12, "main", 4) == 0);
  BM_EXPECT_EQ(request(BM_SERVICE_RESET, 2, 0), 1);
  BM_EXPECT_OK(status());
  memcpy(bm_frame_payload(&line), "mai", 3);
  BM_EXPECT_EQ(request(BM_SERVICE_ENTRY, 3, 3), 1);
  BM_EXPECT_CODE(status(), NOT_FOUND);
}

static void a_repeated_request_is_not_executed_again(void) {
  const float one = 1;
  const float five = 5;
  open();
  write(1, 0, 0, &one, sizeof(one));
  write(1, 0, 0, &five, sizeof(five));
  BM_EXPECT_OK(status());
  bm_tensor_t input;
  BM_EXPECT_OK(bm_model_input(&service.model, 0, &input));
  BM_EXPECT(*(const float *)input.data == 1);
  write(2, 0, 0, &five, sizeof(five));
  BM_EXPECT(*(const float *)input.data == 5);
  // Another request of the same number is no repetition.
  BM_EXPECT_EQ(request(BM_SERVICE_RUN, 2, 0), 1);
  BM_EXPECT_EQ(data_size(), 16);
}

static void nothing_outside_of_a_tensor_is_touched(void) {
  const uint8_t byte = 1;
  open();
  write(1, 1, 0, &byte, 1);
  BM_EXPECT_CODE(status(), INVALID_ARGUMENT);
  write(2, 0, MODEL_BYTES, &byte, 1);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  write(3, 0, UINT32_MAX, &byte, 1);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  write(4, 0, MODEL_BYTES - 1, &byte, 1);
  BM_EXPECT_OK(status());
  read(5, 1, 0, 1);
  BM_EXPECT_CODE(status(), INVALID_ARGUMENT);
  read(6, 0, MODEL_BYTES - 1, 2);
  BM_EXPECT_CODE(status(), OUT_OF_RANGE);
  BM_EXPECT_EQ(data_size(), 0);
  read(7, 0, MODEL_BYTES - 1, 1);
  BM_EXPECT_OK(status());
  BM_EXPECT_EQ(data_size(), 1);
}

// Sends zeros: the first tensor or region, nothing of it.
static void expect_refused(uint8_t kind, uint8_t number, size_t size) {
  memset(bm_frame_payload(&line), 0, size);
  BM_EXPECT_EQ(request(kind, number, size), 1);
  BM_EXPECT_CODE(status(), INVALID_ARGUMENT);
}

static void what_it_does_not_know_is_refused(void) {
  open();
  BM_EXPECT_EQ(request(9, 1, 0), 1);
  BM_EXPECT_CODE(status(), UNIMPLEMENTED);
  static const uint8_t kSizes[][2] = {
      {BM_SERVICE_WRITE, 5}, {BM_SERVICE_READ, 7}, {BM_SERVICE_READ, 9},
      {BM_SERVICE_PEEK, 7},  {BM_SERVICE_PEEK, 9}, {BM_SERVICE_RUN, 4}};
  for (uint8_t i = 0; i < sizeof(kSizes) / sizeof(kSizes[0]); ++i) {
    expect_refused(kSizes[i][0], 2 + i, kSizes[i][1]);
  }
  // After each of these, there is no model.
  expect_refused(BM_SERVICE_OPEN, 0, 1);
  expect_refused(BM_SERVICE_OPEN, 0, 3);
  bm_frame_put(bm_frame_payload(&line), MODEL_COUNT, 2);
  BM_EXPECT_EQ(request(BM_SERVICE_OPEN, 0, 2), 1);
  BM_EXPECT_CODE(status(), INVALID_ARGUMENT);
  static const uint8_t kOthers[][2] = {
      {BM_SERVICE_WRITE, 6}, {BM_SERVICE_RUN, 0},   {BM_SERVICE_RUN, 8},
      {BM_SERVICE_READ, 8},  {BM_SERVICE_ENTRY, 4}, {BM_SERVICE_RESET, 0},
      {BM_SERVICE_PEEK, 8}};
  for (uint8_t i = 0; i < sizeof(kOthers) / sizeof(kOthers[0]); ++i) {
    expect_refused(kOthers[i][0], 1 + i, kOthers[i][1]);
  }
}

static void a_changed_byte_is_noticed(void) {
  open();
  bm_frame_make(&line, BM_SERVICE_RUN, 1, 0);
  const size_t bytes = bm_frame_bytes(&line);
  for (size_t i = 0; i < bytes; ++i) {
    line.bytes[i] ^= 0x10;
    // If the size is what changed, the frame before is not complete.
    service.request.received = 0;
    BM_EXPECT_EQ(send(bytes), 0);
    line.bytes[i] ^= 0x10;
  }
  service.request.received = 0;
  BM_EXPECT_EQ(send(bytes), 1);
}

static void an_answer_without_room_is_an_error(void) {
  memset(long_name, 'n', sizeof(long_name) - 1);
  bm_frame_put(bm_frame_payload(&line), LONG, 2);
  BM_EXPECT_EQ(request(BM_SERVICE_OPEN, 0, 2), 1);
  BM_EXPECT_CODE(status(), RESOURCE_EXHAUSTED);
  BM_EXPECT_EQ(data_size(), 0);
  BM_EXPECT_EQ(request(BM_SERVICE_RUN, 1, 0), 1);
  BM_EXPECT_CODE(status(), INVALID_ARGUMENT);
}

static void a_frame_that_is_too_long_is_dropped(void) {
  static const size_t kSizes[] = {BM_FRAME_PAYLOAD_BYTES + 1, UINT16_MAX};
  for (size_t i = 0; i < sizeof(kSizes) / sizeof(kSizes[0]); ++i) {
    open();
    bm_frame_make(&line, BM_SERVICE_RUN, 1, 0);
    bm_frame_put(line.bytes + 4, kSizes[i], 2);
    BM_EXPECT_EQ(send(BM_FRAME_BEGIN_BYTES), 0);
    BM_EXPECT_EQ(service.request.received, 0);
    // What follows may be a frame.
    BM_EXPECT_EQ(request(BM_SERVICE_RESET, 2, 0), 1);
    BM_EXPECT_OK(status());
  }
}

static void begins_anew_behind_noise(void) {
  static const uint8_t kNoise[] = {0xB5, 0xB5, 'x', 0xB5};
  open();
  for (size_t i = 0; i < sizeof(kNoise); ++i) {
    BM_EXPECT(!bm_service_take(&service, kNoise[i]));
  }
  BM_EXPECT_EQ(request(BM_SERVICE_RUN, 1, 0), 1);
  // Half a request, and the bytes with which a new client begins.
  bm_frame_make(&line, BM_SERVICE_READ, 2, 8);
  for (size_t i = 0; i < 9; ++i) {
    BM_EXPECT(!bm_service_take(&service, line.bytes[i]));
  }
  for (size_t i = 0; i < BM_FRAME_BYTES; ++i) {
    BM_EXPECT(!bm_service_take(&service, 0));
  }
  open();
}

int main(void) {
  BM_TEST(says_what_it_has);
  BM_TEST(computes_what_it_is_sent);
  BM_TEST(stops_between_commands);
  BM_TEST(waits_also_after_a_failure);
  BM_TEST(finds_an_entry_point);
  BM_TEST(a_repeated_request_is_not_executed_again);
  BM_TEST(nothing_outside_of_a_tensor_is_touched);
  BM_TEST(what_it_does_not_know_is_refused);
  BM_TEST(a_changed_byte_is_noticed);
  BM_TEST(an_answer_without_room_is_an_error);
  BM_TEST(a_frame_that_is_too_long_is_dropped);
  BM_TEST(begins_anew_behind_noise);
  return bm_test_end();
}

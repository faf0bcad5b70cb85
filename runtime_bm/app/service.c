#include "runtime_bm/app/service.h"

#include "runtime_bm/app/models.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/hal/hal.h"

#define BM_FILE BM_FILE_SERVICE

enum {
  STATUS_BYTES = 4,
  // What a WRITE has before its data.
  WRITE_BEGIN_BYTES = 6,
};

// Where the payload of an answer is written.
typedef struct writer_t {
  uint8_t *payload;
  size_t size;
} writer_t;

// Appends a number. Errors: RESOURCE_EXHAUSTED when the frame is full.
static bm_status_t put(writer_t *writer, uint64_t value, uint32_t bytes) {
  BM_CHECK(writer->size + bytes <= BM_FRAME_PAYLOAD_BYTES, RESOURCE_EXHAUSTED);
  bm_frame_put(writer->payload + writer->size, value, bytes);
  writer->size += bytes;
  return bm_ok();
}

// What OPEN and ENTRY answer.
static bm_status_t describe(const bm_service_t *service, const char *name,
                            writer_t *writer) {
  const uint32_t inputs = service->model.entry->input_count;
  const uint32_t outputs = service->model.entry->output_count;
  BM_TRY(put(writer, inputs, 2));
  BM_TRY(put(writer, outputs, 2));
  for (uint32_t i = 0; i < inputs + outputs; ++i) {
    bm_tensor_t tensor;
    BM_TRY(i < inputs ? bm_model_input(&service->model, i, &tensor)
                      : bm_model_output(&service->model, i - inputs, &tensor));
    BM_TRY(put(writer, tensor.bytes, 4));
  }
  for (const char *c = name; *c != '\0'; ++c) {
    BM_TRY(put(writer, (uint8_t)*c, 1));
  }
  return bm_ok();
}

static bm_status_t open_model(bm_service_t *service, const uint8_t *payload,
                              size_t size, writer_t *writer) {
  service->is_open = false;
  BM_CHECK(size == 2, INVALID_ARGUMENT);
  const uint32_t index = bm_frame_get(payload, 2);
  BM_CHECK(index < bm_firmware_model_count, INVALID_ARGUMENT);
  const bm_firmware_model_t *entry = &bm_firmware_models[index];
  BM_TRY(bm_firmware_init(entry, &service->model));
  bm_trap_model = entry->name;
  BM_TRY(describe(service, entry->name, writer));
  service->is_open = true;
  return bm_ok();
}

static bm_status_t choose_entry(bm_service_t *service, uint8_t *payload,
                                size_t size, writer_t *writer) {
  BM_CHECK(service->is_open, INVALID_ARGUMENT);
  // Behind the payload is its sum, which has been compared already.
  payload[size] = '\0';
  const char *name = (const char *)payload;
  BM_TRY(bm_model_entry(&service->model, name, &service->model));
  return describe(service, name, writer);
}

static bm_status_t write_input(bm_service_t *service, const uint8_t *payload,
                               size_t size) {
  BM_CHECK(service->is_open && size >= WRITE_BEGIN_BYTES, INVALID_ARGUMENT);
  const size_t offset = bm_frame_get(payload + 2, 4);
  const size_t bytes = size - WRITE_BEGIN_BYTES;
  bm_tensor_t tensor;
  BM_TRY(bm_model_input(&service->model, bm_frame_get(payload, 2), &tensor));
  BM_CHECK(offset <= tensor.bytes && bytes <= tensor.bytes - offset,
           OUT_OF_RANGE);
  memcpy((uint8_t *)tensor.data + offset, payload + WRITE_BEGIN_BYTES, bytes);
  return bm_ok();
}

// Runs some of the entry point's commands. Which ones a driver runs, only it
// knows.
static bm_status_t run_commands(bm_service_t *service, uint32_t first,
                                uint32_t count) {
  const bm_plan_entry_t *entry = service->model.entry;
  const bm_plan_t *plan = service->model.runner.plan;
  BM_CHECK(entry->driver == BM_PLAN_NO_DRIVER, UNIMPLEMENTED);
  BM_CHECK(first >= entry->first_command, OUT_OF_RANGE);
  const uint32_t skipped = first - entry->first_command;
  BM_CHECK(skipped <= entry->command_count &&
               count <= entry->command_count - skipped,
           OUT_OF_RANGE);
  const bm_status_t status = bm_plan_run(&service->model.runner, first, count);
  // After a failure as well: nothing may write to the arena behind an answer.
  if (plan->wait != NULL) BM_TRY(plan->wait());
  return status;
}

static bm_status_t run(bm_service_t *service, const uint8_t *payload,
                       size_t size, writer_t *writer) {
  BM_CHECK(service->is_open && (size == 0 || size == 8), INVALID_ARGUMENT);
  const uint64_t instret = bm_hal_instret();
  const uint64_t cycles = bm_hal_cycles();
  BM_TRY(size == 0 ? bm_model_run(&service->model)
                   : run_commands(service, bm_frame_get(payload, 4),
                                  bm_frame_get(payload + 4, 4)));
  const uint64_t cycles_end = bm_hal_cycles();
  BM_TRY(put(writer, bm_hal_instret() - instret, 8));
  return put(writer, cycles_end - cycles, 8);
}

// Appends part of a tensor or a region: `payload` is which:16 offset:32
// size:16.
static bm_status_t put_part(const uint8_t *payload, const uint8_t *from,
                            size_t from_bytes, writer_t *writer) {
  const size_t offset = bm_frame_get(payload + 2, 4);
  const size_t bytes = bm_frame_get(payload + 6, 2);
  BM_CHECK(offset <= from_bytes && bytes <= from_bytes - offset, OUT_OF_RANGE);
  BM_CHECK(bytes <= BM_FRAME_PAYLOAD_BYTES - writer->size, OUT_OF_RANGE);
  // An empty region has no address.
  if (bytes != 0) {
    memcpy(writer->payload + writer->size, from + offset, bytes);
  }
  writer->size += bytes;
  return bm_ok();
}

static bm_status_t read_output(bm_service_t *service, const uint8_t *payload,
                               size_t size, writer_t *writer) {
  BM_CHECK(service->is_open && size == 8, INVALID_ARGUMENT);
  bm_tensor_t tensor;
  BM_TRY(bm_model_output(&service->model, bm_frame_get(payload, 2), &tensor));
  return put_part(payload, tensor.data, tensor.bytes, writer);
}

static bm_status_t peek(bm_service_t *service, const uint8_t *payload,
                        size_t size, writer_t *writer) {
  BM_CHECK(service->is_open && size == 8, INVALID_ARGUMENT);
  const bm_plan_runner_t *runner = &service->model.runner;
  const bm_plan_header_t *header = runner->plan->header;
  const uint32_t region = bm_frame_get(payload, 2);
  const size_t bytes[BM_PLAN_REGION_COUNT] = {
      [BM_PLAN_REGION_ARENA] = header->arena_bytes,
      [BM_PLAN_REGION_WEIGHTS] = header->weights_bytes,
      [BM_PLAN_REGION_STATE] = header->state_bytes,
      [BM_PLAN_REGION_FAST] = header->fast_bytes,
  };
  BM_CHECK(region < BM_PLAN_REGION_COUNT, INVALID_ARGUMENT);
  return put_part(payload, runner->regions[region], bytes[region], writer);
}

static bm_status_t reset(const bm_service_t *service) {
  BM_CHECK(service->is_open, INVALID_ARGUMENT);
  return bm_model_reset(&service->model);
}

static bm_status_t execute(bm_service_t *service, writer_t *writer) {
  uint8_t *payload = bm_frame_payload(&service->request);
  const size_t size = bm_frame_size(&service->request);
  switch (bm_frame_kind(&service->request)) {
    case BM_SERVICE_OPEN:
      return open_model(service, payload, size, writer);
    case BM_SERVICE_WRITE:
      return write_input(service, payload, size);
    case BM_SERVICE_RUN:
      return run(service, payload, size, writer);
    case BM_SERVICE_READ:
      return read_output(service, payload, size, writer);
    case BM_SERVICE_ENTRY:
      return choose_entry(service, payload, size, writer);
    case BM_SERVICE_RESET:
      return reset(service);
    case BM_SERVICE_PEEK:
      return peek(service, payload, size, writer);
    default:
      return BM_ERROR(UNIMPLEMENTED);
  }
}

bool bm_service_take(bm_service_t *service, uint8_t byte) {
  if (!bm_frame_take(&service->request, byte)) return false;
  const uint8_t kind = bm_frame_kind(&service->request);
  const uint8_t number = bm_frame_number(&service->request);
  const bool repeated = kind > BM_SERVICE_OPEN &&
                        kind == bm_frame_kind(&service->answer) &&
                        number == bm_frame_number(&service->answer);
  if (repeated) return true;
  writer_t writer = {bm_frame_payload(&service->answer), STATUS_BYTES};
  const bm_status_t status = execute(service, &writer);
  bm_frame_put(writer.payload, status.bits, STATUS_BYTES);
  bm_frame_make(&service->answer, kind, number,
                status.bits == 0 ? writer.size : (size_t)STATUS_BYTES);
  return true;
}

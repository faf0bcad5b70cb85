// Classifies pictures that arrive byte by byte: docs/how-to/feed-a-sensor.md
// explains it.
#include "runtime_bm/app/models.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/hal/application.h"
#include "runtime_bm/hal/hal.h"

enum { PIXELS = 64, DIGITS = 10, SAMPLES_PER_SECOND = 1000 };

// Bytes on their way from the interrupt handler to the main program. Only the
// handler changes `written`, and only the main program `taken`.
enum { RING_BYTES = 256 };
static volatile uint8_t ring[RING_BYTES];
static volatile uint32_t written;
static volatile uint32_t taken;
static volatile uint32_t lost;

static uint64_t next_sample;

// Asks the sensor, which here is the console, 1000 times a second.
static void on_interrupt(uint32_t number) {
  if (number != BM_INTERRUPT_TIMER) return;
  next_sample += bm_hal_time_hz() / SAMPLES_PER_SECOND;
  bm_hal_timer(next_sample);
  for (;;) {
    const int32_t byte = bm_hal_console_read();
    if (byte < 0) return;
    if (written - taken == RING_BYTES) {
      lost = lost + 1;
      continue;
    }
    ring[written % RING_BYTES] = (uint8_t)byte;
    written = written + 1;
  }
}

// Sleeps until there is a byte, and takes it.
static uint8_t receive(void) {
  bm_hal_interrupts_off();
  while (taken == written) {
    bm_hal_wait();
    bm_hal_interrupts_on();  // here the handler runs
    bm_hal_interrupts_off();
  }
  bm_hal_interrupts_on();
  const uint8_t byte = ring[taken % RING_BYTES];
  taken = taken + 1;
  return byte;
}

// Fills `pixels` with the next picture. Returns false at the end.
static bool next_picture(float pixels[PIXELS]) {
  for (uint32_t count = 0; count < PIXELS;) {
    const uint8_t byte = receive();
    if (byte == 'q') return false;
    if (byte != '\n') pixels[count++] = byte == '#' ? 1.0f : 0.0f;
  }
  return true;
}

static void print(const char *key, uint64_t value) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, key);
  bm_text_u64(&line, value);
  bm_text_string(&line, "\n");
  bm_hal_console_write(line.bytes, line.size);
}

static bm_status_t classify_all(void) {
  static const uint32_t kShape[] = {1, PIXELS};
  bm_model_t model;
  BM_TRY(bm_firmware_init(bm_firmware_find("mlp"), &model));
  float pixels[PIXELS];
  while (next_picture(pixels)) {
    // Bytes of the next picture may arrive while the model runs.
    BM_TRY(bm_model_set_input(&model, 0, BM_DTYPE_F32, kShape, 2, pixels,
                              sizeof(pixels)));
    BM_TRY(bm_model_run(&model));
    bm_tensor_t scores;
    BM_TRY(bm_model_output(&model, 0, &scores));
    const float *score = scores.data;
    uint32_t digit = 0;
    for (uint32_t i = 1; i < DIGITS; ++i) {
      if (score[i] > score[digit]) digit = i;
    }
    print("digit ", digit);
  }
  return bm_ok();
}

int main(void) {
  bm_hal_init();
  next_sample = bm_hal_time();
  bm_hal_interrupts(on_interrupt);
  bm_hal_timer(next_sample);
  const bm_status_t status = classify_all();
  if (!bm_status_is_ok(status)) {
    print("status word: ", status.bits);
    return 1;
  }
  print("lost ", lost);
  bm_hal_power_off();
}

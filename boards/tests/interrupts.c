// A model computes the same bits while a timer interrupts it, with a handler
// that uses float registers.
#include "runtime_bm/base/memory.h"

#include "runtime_bm/app/models.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/hal/application.h"
#include "runtime_bm/hal/hal.h"

enum {
  PIXELS = 64,
  SCORES = 10,
  RUNS = 400,
  PERIOD = 7,
  MANY = 100,
  PAUSE = 1000,
};

static volatile uint32_t count;
static volatile uint32_t other_numbers;
static volatile float sum;
static volatile float two = 2, three = 3, quotient;
static volatile bool is_periodic = true;

static void on_interrupt(uint32_t number) {
  if (number != BM_INTERRUPT_TIMER) ++other_numbers;
  ++count;
  // More live floats than there are registers that calls preserve.
  float x[16];
  for (uint32_t i = 0; i < 16; ++i) x[i] = sum + (float)i * 1.7f;
  for (uint32_t i = 0; i < 16; ++i) sum = sum + x[i] * 0.01f;
  if (sum > 1e6f) sum = 0;
  quotient = two / three;
  bm_hal_timer(is_periodic ? bm_hal_time() + PERIOD : UINT64_MAX);
}

static bm_status_t run(bm_model_t *model, float scores[SCORES]) {
  static const uint32_t kShape[] = {1, PIXELS};
  float pixels[PIXELS];
  for (uint32_t i = 0; i < PIXELS; ++i) pixels[i] = (float)(i % 5) / 4;
  BM_TRY(bm_model_set_input(model, 0, BM_DTYPE_F32, kShape, 2, pixels,
                            sizeof(pixels)));
  BM_TRY(bm_model_run(model));
  bm_tensor_t output;
  BM_TRY(bm_model_output(model, 0, &output));
  memcpy(scores, output.data, SCORES * sizeof(float));
  return bm_ok();
}

static void pause(void) {
  const uint64_t end = bm_hal_time() + PAUSE;
  while (bm_hal_time() < end) {
  }
}

// Returns main's exit status: which expectation failed, or 0.
static int check(void) {
  bm_model_t model;
  float want[SCORES], got[SCORES];
  if (!bm_status_is_ok(bm_firmware_init(&bm_firmware_models[0], &model))) {
    return 10;
  }
  if (!bm_status_is_ok(run(&model, want))) return 11;

  bm_hal_interrupts(on_interrupt);
  if (count != 0) return 12;
  bm_hal_timer(bm_hal_time());
  for (uint32_t i = 0; i < RUNS; ++i) {
    if (!bm_status_is_ok(run(&model, got))) return 13;
    if (memcmp(got, want, sizeof(want)) != 0) return 14;
  }
  if (count < MANY || other_numbers != 0) return 15;

#ifdef __riscv_flen
  // Kernels change the rounding mode; the handler has the usual one.
  uintptr_t mode;
  const uint32_t earlier = count;
  __asm__ volatile("csrwi frm, 1" ::: "memory");  // towards zero
  while (count == earlier) {
  }
  __asm__ volatile("csrr %0, frm\ncsrwi frm, 0" : "=r"(mode)::"memory");
  if (mode != 1 || quotient != 2.0f / 3.0f) return 21;
#endif

  // None comes while they are off, and one that came meanwhile is not lost.
  bm_hal_interrupts_off();
  const uint32_t before = count;
  pause();
  if (count != before) return 16;
  bm_hal_wait();
  if (count != before) return 17;
  is_periodic = false;
  bm_hal_interrupts_on();
  pause();
  if (count != before + 1) return 18;

  // Nobody types.
  if (bm_hal_console_read() != -1) return 19;
  return bm_hal_time_hz() == 10000000 ? 0 : 20;
}

int main(void) {
  bm_hal_init();
  const int status = check();
  if (status != 0) return status;
  // QEMU ends with exit status 0.
  bm_hal_power_off();
}

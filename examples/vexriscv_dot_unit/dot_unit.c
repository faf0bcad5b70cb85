#include "examples/vexriscv_dot_unit/dot_unit.h"

#include "runtime_bm/base/device.h"
#include "runtime_bm/hal/hal.h"

// Where its registers are. LiteX decides it, and the board knows it.
extern const uintptr_t bm_device_dot_unit;

// What the image's profile asks.
bm_device_use_t bm_device_dot_unit_use(void);

// Registers, in bytes.
enum {
  WEIGHTS = 0x000,
  WORDS = 0x004,
  OUTPUTS = 0x008,
  DONE = 0x00c,
  BUSY = 0x010,
  WINDOW = 0x400,
  SUMS = 0x800,
};

// Outputs that the unit has room for, and how often it is asked before it has
// failed to compute one.
enum { MOST_OUTPUTS = 256, MOST_QUESTIONS = 1 << 12 };

// Instructions that asked.
static uint64_t waited;

static volatile uint32_t *at(uint32_t offset) {
  return (volatile uint32_t *)(bm_device_dot_unit + offset);
}

// Waits until more than `done` outputs are done. Returns how many are, or
// `done` if the unit is stuck.
static int wait_beyond(int done) {
  const uint64_t start = bm_hal_instret();
  int now = done;
  for (int i = 0; i != MOST_QUESTIONS && now == done; ++i) {
    now = (int)*at(DONE);
  }
  waited += bm_hal_instret() - start;
  return now;
}

// Computes up to MOST_OUTPUTS outputs of the unit's window.
static int compute(const int8_t *weights, int outputs, int32_t *sums) {
  *at(WEIGHTS) = (uint32_t)(uintptr_t)weights;
  *at(OUTPUTS) = (uint32_t)outputs;
  const volatile uint32_t *const results = at(SUMS);
  for (int done = 0; done != outputs;) {
    const int now = wait_beyond(done);
    if (now == done) return 1;
    for (; done != now; ++done) sums[done] = (int32_t)results[done];
  }
  return 0;
}

// Computes all outputs of a window.
static int compute_window(const dot_unit_sums_params_t *params,
                          const int8_t *image, const int8_t *weights,
                          int32_t *sums) {
  const uint32_t *const words = (const uint32_t *)(const void *)image;
  volatile uint32_t *const window = at(WINDOW);
  for (int i = 0; i != params->words; ++i) window[i] = words[i];
  const int row = params->words * (int)sizeof(*words);
  for (int first = 0; first < params->outputs; first += MOST_OUTPUTS) {
    const int left = params->outputs - first;
    const int count = left < MOST_OUTPUTS ? left : MOST_OUTPUTS;
    if (compute(weights + first * row, count, sums + first) != 0) return 1;
  }
  return 0;
}

int dot_unit_sums(const dot_unit_sums_params_t *params, const int8_t *image,
                  const int8_t *weights, int32_t *sums) {
  *at(WORDS) = (uint32_t)params->words;
  for (int y = 0; y != params->lines; ++y) {
    for (int x = 0; x != params->columns; ++x) {
      const int at_window = y * params->line_step + x * params->column_step;
      if (compute_window(params, image + at_window, weights, sums) != 0) {
        return 1;
      }
      sums += params->outputs;
    }
  }
  return 0;
}

bm_device_use_t bm_device_dot_unit_use(void) {
  return (bm_device_use_t){.busy = *at(BUSY), .waited = waited};
}

#include "examples/matrix_unit/matrix_unit.h"

#include <stdbool.h>
#include <stddef.h>

#include "examples/matrix_unit/registers.h"
#include "runtime_bm/base/device.h"
#include "runtime_bm/hal/hal.h"

#define BM_FILE BM_FILE_MATRIX_UNIT

// Where its registers are: bm_firmware defines this for the board.
extern const uintptr_t bm_device_matrix_unit;

// What the image's profile asks.
bm_device_use_t bm_device_matrix_unit_use(void);

// How often the unit is asked before it has failed to end. Its longest products
// take less than a tenth of it.
enum { MOST_QUESTIONS = 1 << 22 };

// What went wrong since the last wait; the unit itself forgets it.
static bm_status_t failure;

// Instructions that asked in vain.
static uint64_t waited;

static uint32_t get(uint32_t at) {
  return *(volatile const uint32_t *)(bm_device_matrix_unit + at);
}

static void set(uint32_t at, uint32_t word) {
  *(volatile uint32_t *)(bm_device_matrix_unit + at) = word;
}

static void set_address(uint32_t at, const void *address) {
  set(at, (uint32_t)(uintptr_t)address);
  set(at + sizeof(uint32_t), (uint32_t)((uint64_t)(uintptr_t)address >> 32));
}

// What happens to caches: all that the hart wrote is in memory, and the hart
// reads what the unit wrote. On a machine whose DMA sees what harts have
// written, as Spike's, only the order of accesses matters. One whose DMA reads
// and writes behind the caches also writes back the operands' lines in the
// first function, and forgets the results' lines in the second.
static void to_device(void) { __asm__ volatile("fence rw, o" ::: "memory"); }
static void from_device(void) { __asm__ volatile("fence i, rw" ::: "memory"); }

// Waits for the unit. The line of each error is in the status.
static bm_status_t idle(void) {
  // On Spike, the unit's clock stands still until the hart reads a counter.
  const uint64_t start = bm_hal_instret();
  uint64_t now = start;
  for (int i = 0; i != MOST_QUESTIONS; ++i) {
    const uint32_t state = get(MATRIX_UNIT_STATE);
    BM_CHECK(state != MATRIX_UNIT_BAD_ADDRESS, DEVICE_FAILED);
    BM_CHECK(state != MATRIX_UNIT_BROKEN, DEVICE_FAILED);
    if (state == MATRIX_UNIT_IDLE) {
      waited += now - start;
      return bm_ok();
    }
    now = bm_hal_instret();
  }
  return BM_ERROR(TIMED_OUT);
}

// Waits unless the unit has failed. Returns whether it has not.
static bool settle(void) {
  if (failure.bits != 0) return false;
  failure = idle();
  if (failure.bits != 0) set(MATRIX_UNIT_RESET, 1);
  from_device();
  return failure.bits == 0;
}

static int submit(const product_t *product,
                  const void *const operands[MATRIX_UNIT_OPERAND_COUNT]) {
  if (!settle()) return 1;
  set_address(MATRIX_UNIT_PRODUCT, product);
  for (uint32_t i = 0; i != MATRIX_UNIT_OPERAND_COUNT; ++i) {
    set_address(MATRIX_UNIT_OPERANDS + 8 * i, operands[i]);
  }
  to_device();
  set(MATRIX_UNIT_SUBMIT, 1);
  return 0;
}

int matrix_unit_i8(const matrix_unit_i8_params_t *params, const int8_t *image,
                   const int8_t *weights, const int32_t *biases,
                   const int32_t *multipliers, const int32_t *shifts,
                   int8_t *result) {
  const void *const operands[MATRIX_UNIT_OPERAND_COUNT] = {
      image, weights, biases, multipliers, shifts, result};
  return submit(params, operands);
}

int matrix_unit_sums(const matrix_unit_sums_params_t *params,
                     const int8_t *image, const int8_t *weights,
                     int32_t *sums) {
  const void *const operands[MATRIX_UNIT_OPERAND_COUNT] = {
      image, weights, NULL, NULL, NULL, sums};
  return submit(params, operands) == 0 && settle() ? 0 : 1;
}

bm_status_t matrix_unit_wait(void) {
  (void)settle();
  const bm_status_t status = failure;
  failure = bm_ok();
  return status;
}

bm_device_use_t bm_device_matrix_unit_use(void) {
  const uint64_t high = get(MATRIX_UNIT_BUSY + sizeof(uint32_t));
  return (bm_device_use_t){.busy = high << 32 | get(MATRIX_UNIT_BUSY),
                           .waited = waited};
}

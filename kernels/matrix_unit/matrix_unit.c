#include "kernels/matrix_unit/matrix_unit.h"

#include <stdbool.h>
#include <stddef.h>

#include "kernels/matrix_unit/coherence.h"
#include "kernels/matrix_unit/registers.h"
#include "runtime_bm/base/device.h"
#include "runtime_bm/hal/hal.h"

#define BM_FILE BM_FILE_MATRIX_UNIT

// Where its registers are: bm_firmware defines this for the board.
extern const uintptr_t bm_device_matrix_unit;

// What the image's profile asks.
bm_device_use_t bm_device_matrix_unit_use(void);

// How often the unit is asked before it has failed to end. Its longest lists
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

// Says why the unit stopped. The line of each reason is in the status.
static bm_status_t reason(void) {
  const uint32_t error = get(MATRIX_UNIT_ERROR);
  BM_CHECK(error != MATRIX_UNIT_BAD_ADDRESS, DEVICE_FAILED);
  BM_CHECK(error != MATRIX_UNIT_BAD_SIZE, DEVICE_FAILED);
  BM_CHECK(error != MATRIX_UNIT_BAD_JOB, DEVICE_FAILED);
  BM_CHECK(error != MATRIX_UNIT_QUEUE_FULL, DEVICE_FAILED);
  BM_CHECK(error == MATRIX_UNIT_OK, DEVICE_FAILED);
  return bm_ok();
}

// Waits until no more than `most` lists are left.
static bm_status_t wait_for(uint32_t most) {
  BM_CHECK(get(MATRIX_UNIT_ID) == MATRIX_UNIT_ID_VALUE, NOT_FOUND);
  // On Spike, the unit's clock stands still until the hart reads a counter.
  const uint64_t start = bm_hal_instret();
  uint64_t now = start;
  for (uint32_t i = 0; i != MOST_QUESTIONS; ++i) {
    const uint32_t submitted = get(MATRIX_UNIT_SUBMITTED);
    if (submitted - get(MATRIX_UNIT_ENDED) <= most) {
      waited += now - start;
      return reason();
    }
    BM_TRY(reason());
    now = bm_hal_instret();
  }
  return BM_ERROR(TIMED_OUT);
}

static bool keep(bm_status_t status) {
  if (status.bits == 0) return true;
  failure = status;
  if (bm_status_code(status) != BM_CODE_NOT_FOUND) set(MATRIX_UNIT_RESET, 1);
  return false;
}

static int submit(int jobs, const int32_t *list,
                  const void *const bases[MATRIX_UNIT_BASES]) {
  if (failure.bits != 0) return 1;
  if (!keep(wait_for(MATRIX_UNIT_LISTS - 1))) return 1;
  set_address(MATRIX_UNIT_LIST, list);
  for (uint32_t i = 0; i != MATRIX_UNIT_BASES; ++i) {
    set_address(MATRIX_UNIT_BASE + 8 * i, bases[i]);
  }
  matrix_unit_to_device();
  set(MATRIX_UNIT_SUBMIT, (uint32_t)jobs);
  return 0;
}

int matrix_unit_i8(const matrix_unit_i8_params_t *params, const int32_t *list,
                   const int8_t *image, const int8_t *weights,
                   const int32_t *biases, const int32_t *multipliers,
                   const int32_t *shifts, int8_t *result) {
  const void *const bases[MATRIX_UNIT_BASES] = {image,       weights, biases,
                                                multipliers, shifts,  result};
  return submit(params->jobs, list, bases);
}

int matrix_unit_sums(const matrix_unit_sums_params_t *params,
                     const int32_t *list, const int8_t *image,
                     const int8_t *weights, int32_t *sums) {
  const void *const bases[MATRIX_UNIT_BASES] = {image, weights, NULL,
                                                NULL,  NULL,    sums};
  if (submit(params->jobs, list, bases) != 0) return 1;
  const bool ended = keep(wait_for(0));
  matrix_unit_from_device();
  return ended ? 0 : 1;
}

bm_status_t matrix_unit_wait(void) {
  if (failure.bits == 0) (void)keep(wait_for(0));
  matrix_unit_from_device();
  const bm_status_t status = failure;
  failure = bm_ok();
  return status;
}

bm_device_use_t bm_device_matrix_unit_use(void) {
  const uint64_t high = get(MATRIX_UNIT_BUSY + sizeof(uint32_t));
  return (bm_device_use_t){.busy = high << 32 | get(MATRIX_UNIT_BUSY),
                           .waited = waited};
}

// Products of int8 on the matrix unit.
#ifndef KERNELS_MATRIX_UNIT_MATRIX_UNIT_H_
#define KERNELS_MATRIX_UNIT_MATRIX_UNIT_H_

#include <stdint.h>

#include "runtime_bm/base/status.h"

// `list` has the shape and this many jobs (registers.h), as take.py makes it.
// Its bases are the arguments: image, weights, biases, multipliers, shifts and
// result.
typedef struct matrix_unit_i8_params_t {
  int jobs;
} matrix_unit_i8_params_t;
typedef matrix_unit_i8_params_t matrix_unit_sums_params_t;

// Submits a list. The unit reads and writes the operands until
// matrix_unit_wait returns. Returns 0; anything else if the unit takes no list,
// and then matrix_unit_wait says why.
int matrix_unit_i8(const matrix_unit_i8_params_t *params, const int32_t *list,
                   const int8_t *image, const int8_t *weights,
                   const int32_t *biases, const int32_t *multipliers,
                   const int32_t *shifts, int8_t *result);

// The same for the sums themselves, and waits for them.
int matrix_unit_sums(const matrix_unit_sums_params_t *params,
                     const int32_t *list, const int8_t *image,
                     const int8_t *weights, int32_t *sums);

// Returns once all lists have ended, or the unit failed. Errors: NOT_FOUND: no
// unit is there. DEVICE_FAILED: it refused a job, or is broken; each of its
// errors has a line in matrix_unit.c. TIMED_OUT: it did not end in time. After
// an error, the unit is reset and does nothing more.
bm_status_t matrix_unit_wait(void);

#endif  // KERNELS_MATRIX_UNIT_MATRIX_UNIT_H_

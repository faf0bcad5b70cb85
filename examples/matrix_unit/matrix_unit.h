// Products of int8 on the matrix unit.
#ifndef EXAMPLES_MATRIX_UNIT_MATRIX_UNIT_H_
#define EXAMPLES_MATRIX_UNIT_MATRIX_UNIT_H_

#include <stdint.h>

#include "kernels/common/product.h"
#include "runtime_bm/base/status.h"

typedef product_t matrix_unit_i8_params_t;
typedef product_t matrix_unit_sums_params_t;

// Submits a product, once the last one has ended. The unit reads and writes the
// operands until matrix_unit_wait returns. Returns 0; anything else if the unit
// failed, and then matrix_unit_wait says why.
int matrix_unit_i8(const matrix_unit_i8_params_t *params, const int8_t *image,
                   const int8_t *weights, const int32_t *biases,
                   const int32_t *multipliers, const int32_t *shifts,
                   int8_t *result);

// The same for the sums themselves, and waits for them.
int matrix_unit_sums(const matrix_unit_sums_params_t *params,
                     const int8_t *image, const int8_t *weights, int32_t *sums);

// Returns once the unit is idle. Errors: DEVICE_FAILED: it is broken, or an
// address is none; each has a line in matrix_unit.c. TIMED_OUT: it did not end
// in time. After an error, the unit is reset and does nothing more.
bm_status_t matrix_unit_wait(void);

#endif  // EXAMPLES_MATRIX_UNIT_MATRIX_UNIT_H_

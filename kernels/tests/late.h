// Products of int8 that are computed only when they are waited for.
#ifndef KERNELS_TESTS_LATE_H_
#define KERNELS_TESTS_LATE_H_

#include <stdint.h>

#include "kernels/common/product.h"
#include "runtime_bm/base/status.h"

typedef product_t late_i8_params_t;

// Notes a job. Returns 0; anything else if it does not take the job, and then
// late_wait says why.
int late_i8(const late_i8_params_t *params, const int8_t *image,
            const int8_t *weights, const int32_t *biases,
            const int32_t *multipliers, const int32_t *shifts, int8_t *result);

// Does all jobs.
bm_status_t late_wait(void);

#endif  // KERNELS_TESTS_LATE_H_

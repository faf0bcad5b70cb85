// Products in the simplest C, for tests of what is around them.
#ifndef KERNELS_TESTS_NAIVE_H_
#define KERNELS_TESTS_NAIVE_H_

#include <stdint.h>

#include "kernels/common/product.h"

// sums[row, column] = sum of a[row, term] * b[column, term], where b is packed
// and steps of a are in elements.
typedef struct naive_f32_params_t {
  int rows;
  int columns;
  int terms;
  int a_row;
  int a_term;
} naive_f32_params_t;
typedef naive_f32_params_t naive_i8_params_t;

// `scratch` has room for a row of sums.
int naive_f32(const naive_f32_params_t *params, const float *a, const float *b,
              float *scratch, float *sums);
int naive_i8(const naive_i8_params_t *params, const int8_t *a, const int8_t *b,
             int32_t *scratch, int32_t *sums);

// Sums of windows. Weights are packed as [output, line, column, input].
typedef product_t naive_window_i8_params_t;
int naive_window_i8(const naive_window_i8_params_t *params, const int8_t *image,
                    const int8_t *weights, int32_t *sums);

#endif  // KERNELS_TESTS_NAIVE_H_

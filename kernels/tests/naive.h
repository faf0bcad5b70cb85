// Products in the simplest C, for tests of what is around them.
#ifndef KERNELS_TESTS_NAIVE_H_
#define KERNELS_TESTS_NAIVE_H_

#include <stdint.h>

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

// sums[y, x, output] = sum of image[...] * weight[...] over a window, as
// bmc.libraries.Convolution has it. Steps are in elements, and `before` and
// `extent` are those of the padding; weights are packed as [output, line,
// column, input].
typedef struct naive_window_i8_params_t {
  int lines, columns, outputs, inputs;
  int tap_lines, tap_columns;
  int image_tap_y, image_tap_x, image_output, image_input;
  int sums_y, sums_x, sums_output;
  int before_y, before_x, extent_y, extent_x;
  int stride_y, stride_x;
  int filler;
} naive_window_i8_params_t;

int naive_window_i8(const naive_window_i8_params_t *params, const int8_t *image,
                    const int8_t *weights, int32_t *sums);

#endif  // KERNELS_TESTS_NAIVE_H_

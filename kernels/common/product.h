// Products of windows of int8 in plain C, for models of devices and for tests.
#ifndef KERNELS_COMMON_PRODUCT_H_
#define KERNELS_COMMON_PRODUCT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What bmc.libraries says of a product, by the names of window_params(),
// result_steps() or sums_steps(), and limits(). `image_output` is the step of
// the image from output to output: 0 if the convolution is not depthwise.
typedef struct product_t {
  int lines, columns, outputs;
  int image_line, image_pixel, image_channel, image_output;
  int width, height, channels;
  int low_x, low_y, filler;
  int tap_lines, tap_columns;
  int dilation_x, dilation_y, stride_x, stride_y;
  int result_y, result_x, result_o;
  int up, down_if_negative, zero, low, high;
} product_t;

// A bias, a multiplier and a shift for each output; NULL for sums as they are.
typedef struct product_numbers_t {
  const int32_t *biases, *multipliers, *shifts;
} product_numbers_t;

// The sum of a window. Weights are [output][tap][channel].
static inline int32_t product_sum(const product_t *product, const int8_t *image,
                                  const int8_t *weights, int line, int column,
                                  int output) {
  int32_t sum = 0;
  weights += (ptrdiff_t)output * product->tap_lines * product->tap_columns *
             product->channels;
  for (int tap_y = 0; tap_y < product->tap_lines; ++tap_y) {
    for (int tap_x = 0; tap_x < product->tap_columns; ++tap_x) {
      const int y = line * product->stride_y + tap_y * product->dilation_y -
                    product->low_y;
      const int x = column * product->stride_x + tap_x * product->dilation_x -
                    product->low_x;
      const bool is_inside =
          y >= 0 && y < product->height && x >= 0 && x < product->width;
      const ptrdiff_t pixel = (ptrdiff_t)y * product->image_line +
                              (ptrdiff_t)x * product->image_pixel +
                              (ptrdiff_t)output * product->image_output;
      for (int i = 0; i < product->channels; ++i) {
        const int value = is_inside ? image[pixel + i * product->image_channel]
                                    : product->filler;
        sum += *weights++ * value;
      }
    }
  }
  return sum;
}

// What TensorFlow Lite makes of a sum.
static inline int8_t product_int8(const product_t *product, int32_t sum,
                                  const product_numbers_t *numbers,
                                  int output) {
  const int32_t value =
      (int32_t)((uint32_t)sum + (uint32_t)numbers->biases[output]);
  const int64_t multiplier = numbers->multipliers[output];
  const int shift = numbers->shifts[output];
  int64_t scaled;
  if (product->up != 0) {
    scaled = ((int32_t)((uint32_t)value << product->up) * multiplier) >> 32;
  } else {
    scaled = (value * multiplier + (INT64_C(1) << 30)) >> 31;
    if (product->down_if_negative != 0 && value < 0) --scaled;
  }
  scaled = (scaled + (INT64_C(1) << shift >> 1)) >> shift;
  scaled += product->zero;
  if (scaled < product->low) return (int8_t)product->low;
  return (int8_t)(scaled > product->high ? product->high : scaled);
}

// Computes all results: int8, or i32 if there are no numbers.
static inline void product_run(const product_t *product, const int8_t *image,
                               const int8_t *weights,
                               const product_numbers_t *numbers, void *result) {
  for (int y = 0; y < product->lines; ++y) {
    for (int x = 0; x < product->columns; ++x) {
      for (int output = 0; output < product->outputs; ++output) {
        const int32_t sum = product_sum(product, image, weights, y, x, output);
        const ptrdiff_t to = (ptrdiff_t)y * product->result_y +
                             (ptrdiff_t)x * product->result_x +
                             (ptrdiff_t)output * product->result_o;
        if (numbers->biases != NULL) {
          ((int8_t *)result)[to] = product_int8(product, sum, numbers, output);
        } else {
          ((int32_t *)result)[to] = sum;
        }
      }
    }
  }
}

#endif  // KERNELS_COMMON_PRODUCT_H_

// Products of int8 for harts with XSMTVDot and vectors of 256 bits:
// convolutions and matrix products.
#ifndef KERNELS_MATRIX_INSTRUCTIONS_MATRIX_INSTRUCTIONS_H_
#define KERNELS_MATRIX_INSTRUCTIONS_MATRIX_INSTRUCTIONS_H_

#include <stdint.h>

// A result for each of lines x columns windows and for each output: the sum of
// a window's bytes times the output's weights.
//
// The image has width x height pixels of `channels` bytes; image_line is from a
// line to the next one, in bytes, image_pixel from a pixel to the next, and
// image_channel from a channel to the next. low_x pixels and low_y lines are
// before the image; they, and those behind it, are `filler`.
//
// A window has tap_lines x tap_columns pixels. From one to the next there are
// dilation_x pixels and dilation_y lines, and from a window to the next one
// stride_x and stride_y.
//
// Windows are taken from blocks of block_lines x block_columns; block_columns
// is a multiple of 8, unless there is one block in a line. For each block,
// pixels are packed: [column % stride_x][channel / 8][line][column / stride_x]
// [8], with `phases` of the first, `groups` of the second, `needed` lines and
// `line_pixels` of each. A window has `steps` of 8 channels of one pixel.
//
// result_y, result_x and result_o are from one result to the next, in elements.
typedef struct matrix_windows_params_t {
  int lines, columns, outputs;
  int image_line, image_pixel, image_channel;
  int width, height, channels;
  int low_x, low_y, filler;
  int tap_lines, tap_columns, dilation_x, dilation_y, stride_x, stride_y;
  int block_lines, block_columns, phases, groups, needed, line_pixels, steps;
  int result_y, result_x, result_o;
  // How a sum becomes an int8, and another one is added to it:
  // kernels/common/requantize.h.
  int up, down_if_negative, zero, low, high;
  int a_up, a_multiplier, a_down, a_shift;
  int b_zero, b_up, b_multiplier, b_down, b_shift;
  int added_multiplier, added_down, added_shift;
  int added_zero, added_low, added_high;
} matrix_windows_params_t;
typedef matrix_windows_params_t matrix_windows_i8_params_t;
typedef matrix_windows_params_t matrix_windows_added_i8_params_t;

// Weights are packed as [output / 16][step][output % 16][channel % 8], with
// zeros behind the last output and the last channel. `offsets` says where the
// bytes of each step are, from the packed bytes of the window's first pixel on.
// `packed` has room for a block.
int matrix_windows(const matrix_windows_params_t *params, const int8_t *image,
                   const int8_t *weights, const int32_t *offsets,
                   int8_t *packed, int32_t *sums);

// The same, from the sums to the result, with a bias, a multiplier and a shift
// for each output.
int matrix_windows_i8(const matrix_windows_i8_params_t *params,
                      const int8_t *image, const int8_t *weights,
                      const int32_t *offsets, int8_t *packed,
                      const int32_t *biases, const int32_t *multipliers,
                      const int32_t *shifts, int8_t *result);

// The same plus `other`, whose steps are those of the result.
int matrix_windows_added_i8(const matrix_windows_added_i8_params_t *params,
                            const int8_t *image, const int8_t *weights,
                            const int32_t *offsets, int8_t *packed,
                            const int32_t *biases, const int32_t *multipliers,
                            const int32_t *shifts, const int8_t *other,
                            int8_t *result);

#endif  // KERNELS_MATRIX_INSTRUCTIONS_MATRIX_INSTRUCTIONS_H_

// Products of int8 for harts with Zvdot4a8i: convolutions and matrix products.
#ifndef KERNELS_DOT_PRODUCTS_DOT_PRODUCTS_H_
#define KERNELS_DOT_PRODUCTS_DOT_PRODUCTS_H_

#include <stdint.h>

// A result for each of lines x columns windows and for each output: the sum of
// a window's bytes times the output's weights. Lanes are windows.
//
// The image has width x height pixels of `channels` bytes; image_line is from a
// line to the next one, in bytes, image_pixel from a pixel to the next, and
// image_channel from a channel to the next. `is_words` says that four channels
// are always a word. low_x pixels and low_y lines are before the image; they,
// and those behind it, are `filler`.
//
// If padded_width is not 0, the image is first copied: lines that are
// padded_line apart, of so many bytes that are padded_step apart, begin with
// padded_low times `filler` and end with it. Then the taps of a line can be the
// channels of a pixel.
//
// A window has tap_lines x tap_columns pixels. From one to the next there are
// dilation_x pixels and dilation_y lines, and from a window to the next one
// stride_x and stride_y.
//
// Windows are taken from blocks of block_lines x block_columns. For each block,
// pixels are sorted by column of the window, by `quads` of four channels, and
// by line modulo stride_y, of which each has phase_lines. `plane` is from one
// four channels to the next, in words. `whole_words` are how many words of a
// line of a window are a multiple of four.
//
// result_y, result_x and result_o are from one result to the next, in elements.
typedef struct dot_windows_params_t {
  int lines, columns, outputs;
  int image_line, image_pixel, image_channel;
  int width, height, channels, is_words;
  int low_x, low_y, filler;
  int padded_width, padded_line, padded_step, padded_low;
  int tap_lines, tap_columns, dilation_x, dilation_y, stride_x, stride_y;
  int block_lines, block_columns, phase_lines, quads, plane, whole_words;
  int result_y, result_x, result_o;
  // How a sum becomes an int8: times its multiplier / 2^31, to nearest, and
  // where `down_if_negative` is 1, 1 less if the sum is negative; or if `up` is
  // not 0, times 2^up times its multiplier / 2^32, down. Then / 2^shift, to
  // nearest, plus `zero`, limited by `low` and `high`.
  int up, down_if_negative, zero, low, high;
  // How another int8 is added to it. What was limited so far, the limits
  // without `zero`, is a number a. The other one, less b_zero, is b. Each
  // becomes (a << up), and where its multiplier is not 0, that is scaled by it
  // as above, with `down` and `shift`. Their sum becomes an int8 as above.
  int a_up, a_multiplier, a_down, a_shift;
  int b_zero, b_up, b_multiplier, b_down, b_shift;
  int added_multiplier, added_down, added_shift;
  int added_zero, added_low, added_high;
} dot_windows_params_t;
typedef dot_windows_params_t dot_windows_i8_params_t;
typedef dot_windows_params_t dot_windows_added_i8_params_t;

// Weights are packed for three outputs at a time, the last ones for what is
// left: [output / 3][tap line][tap column][channel / 4][output % 3][4], with
// zeros behind the last channel. `planes` has room for the pixels of a block,
// and behind them for the copy; `tap_lines` says where each line of a window
// begins in a plane.
int dot_windows(const dot_windows_params_t *params, const int8_t *image,
                const int32_t *weights, const int32_t *tap_lines,
                int32_t *planes, int32_t *sums);

// The same, from the sums to the result, with a bias, a multiplier and a shift
// for each output.
int dot_windows_i8(const dot_windows_i8_params_t *params, const int8_t *image,
                   const int32_t *weights, const int32_t *tap_lines,
                   int32_t *planes, const int32_t *biases,
                   const int32_t *multipliers, const int32_t *shifts,
                   int8_t *result);

// The same plus `other`, whose steps are those of the result.
int dot_windows_added_i8(const dot_windows_added_i8_params_t *params,
                         const int8_t *image, const int32_t *weights,
                         const int32_t *tap_lines, int32_t *planes,
                         const int32_t *biases, const int32_t *multipliers,
                         const int32_t *shifts, const int8_t *other,
                         int8_t *result);

// A result for each of lines x columns rows and for each output: the sum of the
// row's bytes times the output's weights. Lanes are outputs, whose results are
// neighbors.
//
// A row is `words` words of four bytes. image_y and image_x are from one row to
// the next in bytes, result_y and result_x in elements. What follows the sums
// is as above.
typedef struct dot_rows_params_t {
  int lines, columns, outputs, words;
  int image_y, image_x, result_y, result_x;
  int up, down_if_negative, zero, low, high;
} dot_rows_params_t;
typedef dot_rows_params_t dot_rows_i8_params_t;

// Weights are packed as [word][output][4].
int dot_rows(const dot_rows_params_t *params, const int8_t *rows,
             const int32_t *weights, int32_t *sums);
int dot_rows_i8(const dot_rows_i8_params_t *params, const int8_t *rows,
                const int32_t *weights, const int32_t *biases,
                const int32_t *multipliers, const int32_t *shifts,
                int8_t *result);

#endif  // KERNELS_DOT_PRODUCTS_DOT_PRODUCTS_H_

// Products of int8 for harts with packed SIMD (P): convolutions and matrix
// products, and depthwise convolutions. Images have channels behind pixels.
#ifndef KERNELS_PACKED_SIMD_PACKED_SIMD_H_
#define KERNELS_PACKED_SIMD_PACKED_SIMD_H_

#include <stdint.h>

// How a sum becomes an int8: (sum * multiplier / 2^31, to nearest, and where
// `down_if_negative` is 1, 1 less if the sum is negative) / 2^shift, to
// nearest, plus `zero`, limited by `low` and `high`. Functions that write sums
// do not look at these.

// A result for each of lines x columns windows and for each output: the sum of
// a window's bytes times the output's weights. A window is tap_lines x
// tap_columns runs of `run` bytes. Steps are in bytes of the image and in
// elements of the result. `is_aligned` says that all runs are whole words.
typedef struct packed_dot_params_t {
  int lines, columns, outputs;
  int image_y, image_x;
  int tap_lines, tap_columns, run;
  int image_tap_y, image_tap_x;
  int result_y, result_x;
  int is_aligned, stores_words;
  int down_if_negative, zero, low, high;
} packed_dot_params_t;
typedef packed_dot_params_t packed_dot_i8_params_t;

// Weights are packed as [output / 4][word][output % 4], with zeros behind the
// last byte of a window and behind the last output. `windows` has room for four
// of them. `sums` are i32.
int packed_dot(const packed_dot_params_t *params, const int8_t *image,
               const uint64_t *weights, uint64_t *windows, int32_t *sums);

// The same, from the sums to the result. `biases` and `shifts` have a number
// for each output, up to a multiple of 4, and `multipliers` two words for each.
// Shifts are negative. `stores_words` says that four outputs are a whole word.
int packed_dot_i8(const packed_dot_i8_params_t *params, const int8_t *image,
                  const uint64_t *weights, uint64_t *windows,
                  const int32_t *biases, const uint64_t *multipliers,
                  const int32_t *shifts, int8_t *result);

// A result for each of lines x columns windows and each channel, of which there
// are eight times `groups`: the sum of the channel's bytes in the window times
// the channel's weights. `taps` counts the window's pixels, up to a multiple of
// 4.
typedef struct packed_depthwise_params_t {
  int lines, columns, groups, taps;
  int image_y, image_x;
  int result_y, result_x;
  int down_if_negative, zero, low, high;
} packed_depthwise_params_t;
typedef packed_depthwise_params_t packed_depthwise_i8_params_t;

// `offsets` has where each pixel of a window is. Weights are packed as
// [channel / 8][tap / 4][channel % 8][tap % 4]. Results are whole words, and
// `biases`, `multipliers` and `shifts` have a word for each channel.
int packed_depthwise(const packed_depthwise_params_t *params,
                     const int8_t *image, const uint64_t *weights,
                     const int32_t *offsets, int32_t *sums);
int packed_depthwise_i8(const packed_depthwise_i8_params_t *params,
                        const int8_t *image, const uint64_t *weights,
                        const int32_t *offsets, const int32_t *biases,
                        const uint64_t *multipliers, const int32_t *shifts,
                        int8_t *result);

#endif  // KERNELS_PACKED_SIMD_PACKED_SIMD_H_

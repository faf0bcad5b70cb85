#include "kernels/tests/naive.h"

// With WRONG the last sum of a row is off by a number that survives a rescale.
#ifdef WRONG
enum { START_OF_LAST = 4096 };
#else
enum { START_OF_LAST = 0 };
#endif

#define NAIVE(name, element, total)                                      \
  int name(const naive_f32_params_t *params, const element *a,           \
           const element *b, total *scratch, total *sums) {              \
    for (int row = 0; row != params->rows; ++row) {                      \
      for (int column = 0; column != params->columns; ++column) {        \
        total sum = column == params->columns - 1 ? START_OF_LAST : 0;   \
        for (int term = 0; term != params->terms; ++term) {              \
          sum += (total)a[row * params->a_row + term * params->a_term] * \
                 (total)b[column * params->terms + term];                \
        }                                                                \
        scratch[column] = sum;                                           \
      }                                                                  \
      for (int column = 0; column != params->columns; ++column) {        \
        *sums++ = scratch[column];                                       \
      }                                                                  \
    }                                                                    \
    return 0;                                                            \
  }

NAIVE(naive_f32, float, float)
NAIVE(naive_i8, int8_t, int32_t)

// An element of the image, or what is around it.
static int32_t pixel(const naive_window_i8_params_t *params,
                     const int8_t *image, int y, int x, int tap_y, int tap_x,
                     int channel) {
  const int line = y * params->stride_y + tap_y - params->before_y;
  const int column = x * params->stride_x + tap_x - params->before_x;
  if (line < 0 || line >= params->extent_y || column < 0 ||
      column >= params->extent_x) {
    return params->filler;
  }
  return image[line * params->image_tap_y + column * params->image_tap_x +
               channel];
}

int naive_window_i8(const naive_window_i8_params_t *params, const int8_t *image,
                    const int8_t *weights, int32_t *sums) {
  for (int y = 0; y != params->lines; ++y) {
    for (int x = 0; x != params->columns; ++x) {
      const int8_t *weight = weights;
      for (int output = 0; output != params->outputs; ++output) {
        int32_t sum = 0;
        for (int tap_y = 0; tap_y != params->tap_lines; ++tap_y) {
          for (int tap_x = 0; tap_x != params->tap_columns; ++tap_x) {
            for (int input = 0; input != params->inputs; ++input) {
              const int channel =
                  output * params->image_output + input * params->image_input;
              sum +=
                  *weight++ * pixel(params, image, y, x, tap_y, tap_x, channel);
            }
          }
        }
        sums[y * params->sums_y + x * params->sums_x +
             output * params->sums_output] = sum;
      }
    }
  }
  return 0;
}

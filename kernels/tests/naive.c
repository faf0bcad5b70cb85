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

int naive_window_i8(const naive_window_i8_params_t *params, const int8_t *image,
                    const int8_t *weights, int32_t *sums) {
  const product_numbers_t none = {0};
  product_run(params, image, weights, &none, sums);
  return 0;
}

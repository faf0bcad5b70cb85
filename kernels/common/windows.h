// The three functions of a library for products of windows: of sums, of int8,
// and of int8 that are added to others.
#ifndef KERNELS_COMMON_WINDOWS_H_
#define KERNELS_COMMON_WINDOWS_H_

#include "kernels/common/requantize.h"

// Where results go: sums if `result` is NULL.
typedef struct target_t {
  int32_t *sums;
  int8_t *result;
  const int8_t *other;
  const int32_t *biases, *multipliers, *shifts;
  const requantize_t *how;
  addition_t addition;
} target_t;

KERNEL_INLINE int min(int a, int b) { return a < b ? a : b; }

// Defines `name`, `name`_i8 and `name`_added_i8, which call
//   int run(params, image, weights, places, scratch, const target_t *target)
// that is inlined into each. `weight_t` and `scratch_t` are the elements of
// weights and scratch.
#define DEFINE_WINDOWS(name, weight_t, scratch_t)                              \
  int name(const name##_params_t *params, const int8_t *image,                 \
           const weight_t *weights, const int32_t *places, scratch_t *scratch, \
           int32_t *sums) {                                                    \
    const target_t target = {.sums = sums};                                    \
    return run(params, image, weights, places, scratch, &target);              \
  }                                                                            \
                                                                               \
  int name##_i8(const name##_i8_params_t *params, const int8_t *image,         \
                const weight_t *weights, const int32_t *places,                \
                scratch_t *scratch, const int32_t *biases,                     \
                const int32_t *multipliers, const int32_t *shifts,             \
                int8_t *result) {                                              \
    requantize_t how = REQUANTIZE(params);                                     \
    const target_t target = {.result = result,                                 \
                             .biases = biases,                                 \
                             .multipliers = multipliers,                       \
                             .shifts = shifts,                                 \
                             .how = &how};                                     \
    if (!is_plain(&how)) {                                                     \
      return run(params, image, weights, places, scratch, &target);            \
    }                                                                          \
    how = (requantize_t){.is_plain = 1, .zero = params->zero};                 \
    return run(params, image, weights, places, scratch, &target);              \
  }                                                                            \
                                                                               \
  int name##_added_i8(                                                         \
      const name##_added_i8_params_t *params, const int8_t *image,             \
      const weight_t *weights, const int32_t *places, scratch_t *scratch,      \
      const int32_t *biases, const int32_t *multipliers,                       \
      const int32_t *shifts, const int8_t *other, int8_t *result) {            \
    const requantize_t how = REQUANTIZE(params);                               \
    const target_t target = {.result = result,                                 \
                             .other = other,                                   \
                             .biases = biases,                                 \
                             .multipliers = multipliers,                       \
                             .shifts = shifts,                                 \
                             .how = &how,                                      \
                             .addition = ADDITION(params)};                    \
    return run(params, image, weights, places, scratch, &target);              \
  }

#endif  // KERNELS_COMMON_WINDOWS_H_

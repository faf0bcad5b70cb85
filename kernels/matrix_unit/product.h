// What the matrix unit computes.
#ifndef KERNELS_MATRIX_UNIT_PRODUCT_H_
#define KERNELS_MATRIX_UNIT_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/matrix_unit/jobs.h"

namespace matrix_unit {

inline int32_t as_signed(uint32_t word) { return static_cast<int32_t>(word); }

// The sum of one window.
inline uint32_t product(const Shape &shape, uint64_t window, uint64_t weight,
                        const std::vector<uint8_t> &scratchpad) {
  uint32_t sum = 0;
  for (uint32_t y = 0; y != shape[MATRIX_UNIT_TAP_LINES]; ++y) {
    for (uint32_t x = 0; x != shape[MATRIX_UNIT_TAP_COLUMNS]; ++x) {
      const uint64_t run = window + y * shape[MATRIX_UNIT_IMAGE_TAP_Y] +
                           x * shape[MATRIX_UNIT_IMAGE_TAP_X];
      for (uint32_t i = 0; i != shape[MATRIX_UNIT_RUN]; ++i) {
        sum += static_cast<int8_t>(scratchpad[run + i]) *
               static_cast<int8_t>(scratchpad[weight++]);
      }
    }
  }
  return sum;
}

// A bias, a multiplier or a shift.
inline int32_t number(const Job &job, uint32_t kind, uint32_t output,
                      const std::vector<uint8_t> &scratchpad) {
  int32_t value;
  const uint32_t index = kind * job[MATRIX_UNIT_OUTPUTS] + output;
  std::memcpy(&value, &scratchpad[job[MATRIX_UNIT_NUMBERS] + 4 * index],
              sizeof(value));
  return value;
}

inline uint8_t requantized(const Job &job, const Shape &shape, uint32_t sum,
                           uint32_t output,
                           const std::vector<uint8_t> &scratchpad) {
  const int64_t biased = as_signed(
      sum + static_cast<uint32_t>(number(job, 0, output, scratchpad)));
  const int64_t multiplier = number(job, 1, output, scratchpad);
  const int shift = number(job, 2, output, scratchpad) & 31;
  int64_t value = (biased * multiplier + (INT64_C(1) << 30)) >> 31;
  if (shape[MATRIX_UNIT_MODE] == MATRIX_UNIT_INT8_DOWN && biased < 0) --value;
  value = (value + (INT64_C(1) << shift >> 1)) >> shift;
  value += as_signed(shape[MATRIX_UNIT_ZERO]);
  const int64_t low = as_signed(shape[MATRIX_UNIT_LOW]);
  const int64_t high = as_signed(shape[MATRIX_UNIT_HIGH]);
  return static_cast<uint8_t>(std::min(std::max(value, low), high));
}

// Computes a MULTIPLY that is right.
inline void multiply(const Job &job, const Shape &shape,
                     std::vector<uint8_t> &scratchpad) {
  const uint32_t outputs = job[MATRIX_UNIT_OUTPUTS];
  uint64_t result = 0;
  for (uint32_t y = 0; y != job[MATRIX_UNIT_LINES]; ++y) {
    for (uint32_t x = 0; x != shape[MATRIX_UNIT_COLUMNS]; ++x) {
      const uint64_t window = job[MATRIX_UNIT_IMAGE] +
                              y * shape[MATRIX_UNIT_IMAGE_Y] +
                              x * shape[MATRIX_UNIT_IMAGE_X];
      for (uint32_t output = 0; output != outputs; ++output, ++result) {
        const uint32_t sum =
            product(shape, window + output * shape[MATRIX_UNIT_IMAGE_OUTPUT],
                    job[MATRIX_UNIT_WEIGHTS] + output * window_bytes(shape),
                    scratchpad);
        if (shape[MATRIX_UNIT_MODE] == MATRIX_UNIT_SUMS) {
          std::memcpy(&scratchpad[job[MATRIX_UNIT_RESULT] + 4 * result], &sum,
                      sizeof(sum));
        } else {
          scratchpad[job[MATRIX_UNIT_RESULT] + result] =
              requantized(job, shape, sum, output, scratchpad);
        }
      }
    }
  }
}

}  // namespace matrix_unit

#endif  // KERNELS_MATRIX_UNIT_PRODUCT_H_

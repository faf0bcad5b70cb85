// Jobs of the matrix unit: which are right, and how many cycles they take.
#ifndef KERNELS_MATRIX_UNIT_JOBS_H_
#define KERNELS_MATRIX_UNIT_JOBS_H_

#include <array>
#include <cstdint>

#include "kernels/matrix_unit/registers.h"

namespace matrix_unit {

using Job = std::array<uint32_t, MATRIX_UNIT_JOB_WORDS>;
using Shape = std::array<uint32_t, MATRIX_UNIT_SHAPE_WORDS>;

// Cycles.
constexpr uint64_t kStart = 32, kJobWords = 4, kShapeWords = 16;
// Bytes that are copied, results and bytes of a window, all in one cycle.
constexpr uint64_t kBusBytes = 8, kOutputs = 16, kRunBytes = 16;

inline uint64_t up(uint64_t count, uint64_t part) {
  return (count + part - 1) / part;
}

inline bool multiplies(const Job &job) {
  return job[MATRIX_UNIT_KIND] == MATRIX_UNIT_MULTIPLY;
}

inline uint64_t window_bytes(const Shape &shape) {
  return static_cast<uint64_t>(shape[MATRIX_UNIT_TAP_LINES]) *
         shape[MATRIX_UNIT_TAP_COLUMNS] * shape[MATRIX_UNIT_RUN];
}

inline uint64_t results(const Job &job, const Shape &shape) {
  return static_cast<uint64_t>(job[MATRIX_UNIT_LINES]) *
         shape[MATRIX_UNIT_COLUMNS] * job[MATRIX_UNIT_OUTPUTS];
}

// Those of a job, once its words are read.
inline uint64_t cycles(const Job &job, const Shape &shape) {
  if (!multiplies(job)) {
    const uint64_t lines = job[MATRIX_UNIT_COPY_LINES];
    return kStart + lines * (1 + up(job[MATRIX_UNIT_COPY_BYTES], kBusBytes));
  }
  const uint64_t windows = static_cast<uint64_t>(job[MATRIX_UNIT_LINES]) *
                           shape[MATRIX_UNIT_COLUMNS];
  const uint64_t reads =
      shape[MATRIX_UNIT_IMAGE_OUTPUT] != 0
          ? window_bytes(shape)
          : static_cast<uint64_t>(shape[MATRIX_UNIT_TAP_LINES]) *
                shape[MATRIX_UNIT_TAP_COLUMNS] *
                up(shape[MATRIX_UNIT_RUN], kRunBytes);
  return kStart + windows * reads * up(job[MATRIX_UNIT_OUTPUTS], kOutputs);
}

// Whether bytes are in the scratchpad.
inline bool is_inside(uint64_t place, uint64_t bytes) {
  return place <= MATRIX_UNIT_SCRATCHPAD_BYTES &&
         bytes <= MATRIX_UNIT_SCRATCHPAD_BYTES - place;
}

// What is wrong with a MULTIPLY.
inline matrix_unit_error_t checked_product(const Job &job, const Shape &shape) {
  const uint64_t window = window_bytes(shape);
  const uint64_t outputs = job[MATRIX_UNIT_OUTPUTS];
  const uint32_t mode = shape[MATRIX_UNIT_MODE];
  if (mode > MATRIX_UNIT_INT8_DOWN) return MATRIX_UNIT_BAD_JOB;
  // Products of what fits have no more than 64 bits.
  for (const uint32_t factor :
       {shape[MATRIX_UNIT_TAP_LINES], shape[MATRIX_UNIT_TAP_COLUMNS],
        shape[MATRIX_UNIT_RUN], shape[MATRIX_UNIT_COLUMNS],
        job[MATRIX_UNIT_LINES], job[MATRIX_UNIT_OUTPUTS]}) {
    if (factor == 0) return MATRIX_UNIT_BAD_SIZE;
    if (factor > MATRIX_UNIT_SCRATCHPAD_BYTES) return MATRIX_UNIT_BAD_ADDRESS;
  }
  const auto reach = [](uint64_t count, uint64_t step) {
    return (count - 1) * step;
  };
  const uint64_t image =
      reach(job[MATRIX_UNIT_LINES], shape[MATRIX_UNIT_IMAGE_Y]) +
      reach(shape[MATRIX_UNIT_COLUMNS], shape[MATRIX_UNIT_IMAGE_X]) +
      reach(shape[MATRIX_UNIT_TAP_LINES], shape[MATRIX_UNIT_IMAGE_TAP_Y]) +
      reach(shape[MATRIX_UNIT_TAP_COLUMNS], shape[MATRIX_UNIT_IMAGE_TAP_X]) +
      reach(outputs, shape[MATRIX_UNIT_IMAGE_OUTPUT]) + shape[MATRIX_UNIT_RUN];
  const bool sums = mode == MATRIX_UNIT_SUMS;
  const bool fits =
      is_inside(job[MATRIX_UNIT_IMAGE], image) &&
      is_inside(job[MATRIX_UNIT_WEIGHTS], window * outputs) &&
      (sums || is_inside(job[MATRIX_UNIT_NUMBERS], 12 * outputs)) &&
      is_inside(job[MATRIX_UNIT_RESULT], results(job, shape) * (sums ? 4 : 1));
  return fits ? MATRIX_UNIT_OK : MATRIX_UNIT_BAD_ADDRESS;
}

}  // namespace matrix_unit

#endif  // KERNELS_MATRIX_UNIT_JOBS_H_

// Depthwise convolutions: bytes of four pixels are sorted by channels, then
// multiplied with four weights of each.
#include <stddef.h>

#include "kernels/packed_simd/instructions.h"
#include "kernels/packed_simd/packed_simd.h"
#include "kernels/packed_simd/requantize.h"

// Pairs of channels are in one register.
enum { CHANNELS = 8, TAPS = 4, PAIRS = CHANNELS / 2 };

static uint64_t word_at(const int8_t *pixel) {
  return *(const uint64_t *)(const void *)pixel;
}

// Adds the products of eight channels to their sums.
PACKED_INLINE void add_products(const int8_t *window, const int32_t *offsets,
                                int taps, const uint64_t *weights,
                                uint64_t sums[PAIRS]) {
  for (const int32_t *end = offsets + taps; offsets != end; offsets += TAPS) {
    const uint64_t p0 = word_at(window + offsets[0]);
    const uint64_t p1 = word_at(window + offsets[1]);
    const uint64_t p2 = word_at(window + offsets[2]);
    const uint64_t p3 = word_at(window + offsets[3]);
    const uint64_t low01 = zip8p(p0, p1), low23 = zip8p(p2, p3);
    const uint64_t high01 = zip8hp(p0, p1), high23 = zip8hp(p2, p3);
    sums[0] = pm4adda_b(sums[0], zip16p(low01, low23), weights[0]);
    sums[1] = pm4adda_b(sums[1], zip16hp(low01, low23), weights[1]);
    sums[2] = pm4adda_b(sums[2], zip16p(high01, high23), weights[2]);
    sums[3] = pm4adda_b(sums[3], zip16hp(high01, high23), weights[3]);
    weights += TAPS;
  }
}

// Two channels as int8, in the first bytes of both words.
PACKED_INLINE uint64_t requantized(const requantize_t *how, uint64_t sums,
                                   int pair) {
  const uint64_t values = scaled(how, sums, how->multipliers[pair]);
  const int32_t *shifts = how->shifts + 2 * pair;
  const uint64_t first = psshar_ws(values, (uint64_t)(int64_t)shifts[0]);
  const uint64_t second = psshar_ws(values, (uint64_t)(int64_t)shifts[1]);
  return limited(how, ppaireo_w(first, second));
}

PACKED_INLINE int run(const packed_depthwise_params_t *params,
                      const int8_t *image, const uint64_t *weights,
                      const int32_t *offsets, const requantize_t *how,
                      int32_t *to_sums, int8_t *to_result) {
  const int groups = params->groups, taps = params->taps;
  for (int y = 0; y != params->lines; ++y) {
    for (int x = 0; x != params->columns; ++x) {
      const int8_t *window = image + y * params->image_y + x * params->image_x;
      const ptrdiff_t at = y * params->result_y + x * params->result_x;
      const uint64_t *next = weights;
      for (int group = 0; group != groups; ++group) {
        uint64_t sums[PAIRS] = {0};
        if (how == NULL) {
          add_products(window, offsets, taps, next, sums);
          uint64_t *to = (uint64_t *)(void *)(to_sums + at) + group * PAIRS;
          for (int i = 0; i != PAIRS; ++i) to[i] = sums[i];
        } else {
          const int pair = group * PAIRS;
          const uint64_t *biases =
              (const uint64_t *)(const void *)how->biases + pair;
          for (int i = 0; i != PAIRS; ++i) sums[i] = biases[i];
          add_products(window, offsets, taps, next, sums);
          for (int i = 0; i != PAIRS; ++i) {
            sums[i] = requantized(how, sums[i], pair + i);
          }
          ((uint64_t *)(void *)(to_result + at))[group] =
              unzip8p(unzip16p(sums[0], sums[1]), unzip16p(sums[2], sums[3]));
        }
        window += CHANNELS;
        next += taps;
      }
    }
  }
  return 0;
}

int packed_depthwise(const packed_depthwise_params_t *params,
                     const int8_t *image, const uint64_t *weights,
                     const int32_t *offsets, int32_t *sums) {
  return run(params, image, weights, offsets, NULL, sums, NULL);
}

int packed_depthwise_i8(const packed_depthwise_i8_params_t *params,
                        const int8_t *image, const uint64_t *weights,
                        const int32_t *offsets, const int32_t *biases,
                        const uint64_t *multipliers, const int32_t *shifts,
                        int8_t *result) {
  const requantize_t how = REQUANTIZE(params, biases, multipliers, shifts);
  return run(params, image, weights, offsets, &how, NULL, result);
}

// Dot products of windows: convolutions and matrix products.
#include <stddef.h>

#include "kernels/packed_simd/instructions.h"
#include "kernels/packed_simd/packed_simd.h"
#include "kernels/packed_simd/requantize.h"

// Windows and outputs that are computed at once: each load is used four times.
enum { TILE = 4, WORD = 8 };

// Where results go: sums if `how` is NULL.
typedef struct target_t {
  int32_t *sums;
  int8_t *result;
  const requantize_t *how;
} target_t;

static int words_of(const packed_dot_params_t *params) {
  return (params->tap_lines * params->tap_columns * params->run + WORD - 1) /
         WORD;
}

// Copies a window to every fourth word of `out`.
static void copy_words(const packed_dot_params_t *params, const int8_t *window,
                       uint64_t *out) {
  for (int y = 0; y != params->tap_lines; ++y) {
    const int8_t *line = window + y * params->image_tap_y;
    for (int x = 0; x != params->tap_columns; ++x) {
      const uint64_t *from =
          (const uint64_t *)(const void *)(line + x * params->image_tap_x);
      const uint64_t *const end = from + params->run / WORD;
      for (; from != end; ++from, out += TILE) *out = *from;
    }
  }
}

// The same, byte by byte; behind the last one are zeros.
static void copy_bytes(const packed_dot_params_t *params, const int8_t *window,
                       uint64_t *out) {
  uint64_t word = 0;
  unsigned bits = 0;
  for (int y = 0; y != params->tap_lines; ++y) {
    const int8_t *line = window + y * params->image_tap_y;
    for (int x = 0; x != params->tap_columns; ++x) {
      const int8_t *from = line + x * params->image_tap_x;
      for (const int8_t *end = from + params->run; from != end; ++from) {
        word |= (uint64_t)(uint8_t)*from << bits;
        bits += WORD;
        if (bits == WORD * WORD) {
          *out = word;
          out += TILE;
          word = 0;
          bits = 0;
        }
      }
    }
  }
  if (bits != 0) *out = word;
}

// Both words of two accumulators, added up.
PACKED_INLINE uint64_t totals(uint64_t a, uint64_t b) {
  return padd_w(pack(a, b), ppairo_w(a, b));
}

// Stores the int8 of up to four outputs, which are the bytes of `word`.
PACKED_INLINE void store_bytes(int8_t *to, uint32_t word, int outputs,
                               int is_whole) {
  if (is_whole) {
    *(uint32_t *)(void *)to = word;
    return;
  }
  for (int o = 0; o < outputs && o < TILE; ++o, word >>= WORD) {
    to[o] = (int8_t)word;
  }
}

// Stores the results of two windows, or of the first one if `columns` is 1, and
// of the four outputs from `output` on. Each number has the sums of both.
PACKED_INLINE void store(const packed_dot_params_t *params, uint64_t s0,
                         uint64_t s1, uint64_t s2, uint64_t s3, int output,
                         int columns, ptrdiff_t at, const target_t *target) {
  const requantize_t *how = target->how;
  const int outputs = params->outputs - output;
  const ptrdiff_t step = params->result_x;
  if (how == NULL) {
    const uint64_t sums[TILE] = {s0, s1, s2, s3};
    for (int o = 0; o < outputs && o < TILE; ++o) {
      target->sums[at + output + o] = (int32_t)sums[o];
      if (columns > 1) {
        target->sums[at + step + output + o] = (int32_t)(sums[o] >> 32);
      }
    }
    return;
  }
  const uint64_t *multipliers = how->multipliers + output;
  const int32_t *shifts = how->shifts + output;
  s0 = shifted(how, scaled(how, s0, multipliers[0]), shifts[0]);
  s1 = shifted(how, scaled(how, s1, multipliers[1]), shifts[1]);
  s2 = shifted(how, scaled(how, s2, multipliers[2]), shifts[2]);
  s3 = shifted(how, scaled(how, s3, multipliers[3]), shifts[3]);
  const uint64_t bytes = ppaire_h(ppaire_b(s0, s1), ppaire_b(s2, s3));
  int8_t *to = target->result + at + output;
  store_bytes(to, (uint32_t)bytes, outputs, params->stores_words);
  if (columns > 1) {
    store_bytes(to + step, (uint32_t)(bytes >> 32), outputs,
                params->stores_words);
  }
}

static const int32_t kNoBiases[TILE];

// Computes the four outputs from `output` on for one window.
PACKED_INLINE void column(const packed_dot_params_t *params,
                          const uint64_t *window, const uint64_t *weights,
                          int words, int output, ptrdiff_t at,
                          const target_t *target) {
  const int32_t *biases =
      target->how == NULL ? kNoBiases : target->how->biases + output;
  uint64_t s0 = (uint32_t)biases[0], s1 = (uint32_t)biases[1];
  uint64_t s2 = (uint32_t)biases[2], s3 = (uint32_t)biases[3];
  const uint64_t *const end = window + (ptrdiff_t)words * TILE;
  for (; window != end; window += TILE, weights += TILE) {
    const uint64_t a = window[0];
    s0 = pm4adda_b(s0, a, weights[0]);
    s1 = pm4adda_b(s1, a, weights[1]);
    s2 = pm4adda_b(s2, a, weights[2]);
    s3 = pm4adda_b(s3, a, weights[3]);
  }
  store(params, totals(s0, 0), totals(s1, 0), totals(s2, 0), totals(s3, 0),
        output, 1, at, target);
}

// The accumulators of an output, and their products with one word each.
#define START(s, number)                    \
  uint64_t s##0 = (uint32_t)biases[number]; \
  uint64_t s##1 = s##0, s##2 = s##0, s##3 = s##0
#define ADD(s, number)                       \
  do {                                       \
    const uint64_t weight = weights[number]; \
    s##0 = pm4adda_b(s##0, a0, weight);      \
    s##1 = pm4adda_b(s##1, a1, weight);      \
    s##2 = pm4adda_b(s##2, a2, weight);      \
    s##3 = pm4adda_b(s##3, a3, weight);      \
  } while (0)

// The same for four windows, of which the first `columns` count. Accumulators
// are variables, because the compiler leaves an array in memory.
PACKED_INLINE void tile(const packed_dot_params_t *params,
                        const uint64_t *window, const uint64_t *weights,
                        int words, int output, int columns, ptrdiff_t at,
                        const target_t *target) {
  const int32_t *biases =
      target->how == NULL ? kNoBiases : target->how->biases + output;
  START(s, 0);
  START(t, 1);
  START(u, 2);
  START(v, 3);
  const uint64_t *const end = window + (ptrdiff_t)words * TILE;
#pragma clang loop unroll(disable)
  for (; window != end; window += TILE, weights += TILE) {
    const uint64_t a0 = window[0], a1 = window[1], a2 = window[2],
                   a3 = window[3];
    ADD(s, 0);
    ADD(t, 1);
    ADD(u, 2);
    ADD(v, 3);
  }
  store(params, totals(s0, s1), totals(t0, t1), totals(u0, u1), totals(v0, v1),
        output, columns, at, target);
  if (columns > 2) {
    store(params, totals(s2, s3), totals(t2, t3), totals(u2, u3),
          totals(v2, v3), output, columns - 2,
          at + (ptrdiff_t)2 * params->result_x, target);
  }
}

PACKED_INLINE int run(const packed_dot_params_t *params, const int8_t *image,
                      const uint64_t *weights, uint64_t *windows,
                      const target_t *target) {
  const int words = words_of(params);
  for (int y = 0; y != params->lines; ++y) {
    for (int x = 0; x < params->columns; x += TILE) {
      const int columns =
          params->columns - x < TILE ? params->columns - x : TILE;
      for (int i = 0; i != columns; ++i) {
        const int8_t *window =
            image + y * params->image_y + (x + i) * params->image_x;
        if (params->is_aligned) {
          copy_words(params, window, windows + i);
        } else {
          copy_bytes(params, window, windows + i);
        }
      }
      const ptrdiff_t at = y * params->result_y + x * params->result_x;
      const uint64_t *next = weights;
      for (int o = 0; o < params->outputs; o += TILE, next += words * TILE) {
        if (columns == 1) {
          column(params, windows, next, words, o, at, target);
        } else {
          tile(params, windows, next, words, o, columns, at, target);
        }
      }
    }
  }
  return 0;
}

int packed_dot(const packed_dot_params_t *params, const int8_t *image,
               const uint64_t *weights, uint64_t *windows, int32_t *sums) {
  const target_t target = {.sums = sums};
  return run(params, image, weights, windows, &target);
}

int packed_dot_i8(const packed_dot_i8_params_t *params, const int8_t *image,
                  const uint64_t *weights, uint64_t *windows,
                  const int32_t *biases, const uint64_t *multipliers,
                  const int32_t *shifts, int8_t *result) {
  const requantize_t how = REQUANTIZE(params, biases, multipliers, shifts);
  const target_t target = {.result = result, .how = &how};
  return run(params, image, weights, windows, &target);
}

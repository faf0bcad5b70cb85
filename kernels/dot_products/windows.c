// Dot products of windows: convolutions and matrix products.
#include <riscv_vector.h>
#include <stddef.h>

#include "kernels/common/windows.h"
#include "kernels/dot_products/dot_products.h"
#include "kernels/dot_products/instructions.h"

// Channels of a word, and outputs that are computed at once: three groups of
// eight registers and the one that is multiplied are all there are.
enum { QUAD = 4, TILE = 3 };

typedef dot_windows_params_t params_t;

// Copies an image, with lines that begin and end with what is beside it.
static const int8_t *padded(const params_t *params, const int8_t *image,
                            int8_t *copy) {
  const ptrdiff_t step = params->padded_step;
  const int8_t *const result = copy;
  for (int y = 0; y != params->height; ++y) {
    for (int x = 0; x < params->width;) {
      const size_t vl = __riscv_vsetvl_e8m8((size_t)(params->width - x));
      const vint8m8_t bytes = __riscv_vmv_v_x_i8m8((int8_t)params->filler, vl);
      __riscv_vse8_v_i8m8(copy + x, bytes, vl);
      x += (int)vl;
    }
    for (int x = 0; x < params->padded_width;) {
      const size_t vl = __riscv_vsetvl_e8m8((size_t)(params->padded_width - x));
      const vint8m8_t bytes = __riscv_vlse8_v_i8m8(image + x * step, step, vl);
      __riscv_vse8_v_i8m8(copy + params->padded_low + x, bytes, vl);
      x += (int)vl;
    }
    image += params->padded_line;
    copy += params->width;
  }
  return result;
}

KERNEL_INLINE vint32m8_t filler(const params_t *params, size_t vl) {
  const uint32_t word = (uint8_t)params->filler * 0x01010101u;
  return __riscv_vmv_v_x_i32m8((int32_t)word, vl);
}

// Fills a line of each plane.
static void fill_line(const params_t *params, int columns, int32_t *line) {
  const ptrdiff_t step = params->plane;
  const int quads = params->quads;
  while (columns > 0) {
    const size_t vl = __riscv_vsetvl_e32m8((size_t)columns);
    const vint32m8_t words = filler(params, vl);
    int32_t *to = line;
    for (int i = quads; i != 0; --i, to += step) {
      __riscv_vse32_v_i32m8(to, words, vl);
    }
    line += vl;
    columns -= (int)vl;
  }
}

// Fills a column of each plane.
static void fill_column(const params_t *params, int32_t *column) {
  const ptrdiff_t line = params->block_columns * (ptrdiff_t)sizeof(*column);
  const ptrdiff_t step = params->plane;
  const int quads = params->quads;
  int left = params->stride_y * params->phase_lines;
  while (left > 0) {
    const size_t vl = __riscv_vsetvl_e32m8((size_t)left);
    const vint32m8_t words = filler(params, vl);
    int32_t *to = column;
    for (int i = quads; i != 0; --i, to += step) {
      __riscv_vsse32_v_i32m8(to, line, words, vl);
    }
    column += (ptrdiff_t)vl * params->block_columns;
    left -= (int)vl;
  }
}

// Copies pixels, `x` apart, to a line of each plane.
KERNEL_INLINE void copy_words(const params_t *params, const int8_t *from,
                              ptrdiff_t x, int32_t *to, size_t vl) {
  const ptrdiff_t step = params->plane;
  const int32_t *word = (const int32_t *)(const void *)from;
  const int32_t *const end = word + params->quads;
#pragma clang loop unroll_count(4)
  for (; word != end; ++word, to += step) {
    __riscv_vse32_v_i32m8(to, __riscv_vlse32_v_i32m8(word, x, vl), vl);
  }
}

// The same, where the bytes of a word are anywhere.
KERNEL_INLINE void copy_bytes(const params_t *params, const int8_t *from,
                              ptrdiff_t x, int32_t *to, size_t vl) {
  const ptrdiff_t channel = params->image_channel, step = params->plane;
  int left = params->channels;
  for (; left >= QUAD; left -= QUAD, from += QUAD * channel, to += step) {
    const vint8m2x4_t bytes = __riscv_vcreate_v_i8m2x4(
        __riscv_vlse8_v_i8m2(from, x, vl),
        __riscv_vlse8_v_i8m2(from + channel, x, vl),
        __riscv_vlse8_v_i8m2(from + 2 * channel, x, vl),
        __riscv_vlse8_v_i8m2(from + 3 * channel, x, vl));
    __riscv_vsseg4e8_v_i8m2x4((int8_t *)to, bytes, vl);
  }
  if (left == 0) return;
  // Behind the last channel there may be anything: there the weights are zeros.
  const vint8m2_t first = __riscv_vlse8_v_i8m2(from, x, vl);
  vint8m2_t second = first, third = first;
  if (left > 1) second = __riscv_vlse8_v_i8m2(from + channel, x, vl);
  if (left > 2) third = __riscv_vlse8_v_i8m2(from + 2 * channel, x, vl);
  const vint8m2x4_t bytes =
      __riscv_vcreate_v_i8m2x4(first, second, third, first);
  __riscv_vsseg4e8_v_i8m2x4((int8_t *)to, bytes, vl);
}

// Sorts the pixels of `vl` windows for one tap, from the pixel `from` on, which
// is in the line `top`. There are `lines`.
KERNEL_INLINE void sort_lines(const params_t *params, const int8_t *from,
                              int top, int lines, int32_t *to, int is_words,
                              size_t vl) {
  const ptrdiff_t x = (ptrdiff_t)params->stride_x * params->image_pixel;
  const ptrdiff_t line = params->image_line;
  const ptrdiff_t next_phase =
      (ptrdiff_t)params->phase_lines * params->block_columns;
  const ptrdiff_t next_line = params->block_columns - params->plane;
  const int stride = params->stride_y;
  const unsigned height = (unsigned)params->height;
  for (int phase = 0; lines != 0; --lines, ++top, from += line) {
    if ((unsigned)top >= height) {
      fill_line(params, (int)vl, to);
    } else if (is_words) {
      copy_words(params, from, x, to, vl);
    } else {
      copy_bytes(params, from, x, to, vl);
    }
    to += next_phase;
    if (++phase == stride) {
      phase = 0;
      to += next_line;
    }
  }
}

// Sorts the pixels of one column of windows, from the pixel `at` and the line
// `top` on, of which `lines` are needed. Windows before `first` and from `last`
// on read what is beside the image.
static void sort_tap(const params_t *params, const int8_t *image, int top,
                     int lines, int at, int first, int last, int columns,
                     int32_t *planes) {
  for (int c = 0; c < first; ++c) fill_column(params, planes + c);
  for (int c = last; c < columns; ++c) fill_column(params, planes + c);
  image += (ptrdiff_t)top * params->image_line;
  for (int c = first; c < last;) {
    const size_t vl = __riscv_vsetvl_e32m8((size_t)(last - c));
    const int8_t *from =
        image + (ptrdiff_t)(at + c * params->stride_x) * params->image_pixel;
    if (params->is_words) {
      sort_lines(params, from, top, lines, planes + c, 1, vl);
    } else {
      sort_lines(params, from, top, lines, planes + c, 0, vl);
    }
    c += (int)vl;
  }
}

// Sorts the pixels of a block of windows.
static void sort(const params_t *params, const int8_t *image, int y, int x,
                 int lines, int columns, int32_t *planes) {
  const int stride = params->stride_x;
  const int needed = (lines - 1) * params->stride_y +
                     (params->tap_lines - 1) * params->dilation_y + 1;
  int at = x * stride - params->low_x;
  for (int tap = 0; tap != params->tap_columns; ++tap) {
    const int first = at < 0 ? min((stride - 1 - at) / stride, columns) : 0;
    const int last = min((params->width - at + stride - 1) / stride, columns);
    sort_tap(params, image, y * params->stride_y - params->low_y, needed, at,
             first, last < first ? first : last, columns, planes);
    at += params->dilation_x;
    planes += (ptrdiff_t)params->quads * params->plane;
  }
}

// Adds what four bytes of all windows contribute to one to three outputs, whose
// weights are `at` bytes behind the pointer.
#define ADD_1(a) DOT_LOAD DOT_ADD(s0, w0, weights, a)
#define ADD_2(a, b) ADD_1(a) DOT_ADD(s1, w1, weights, b)
#define ADD_3(a, b, c) ADD_2(a, b) DOT_ADD(s2, w2, weights, c)
#define ADD_ALL(four, four_bytes, one, one_bytes)                              \
  __asm__ volatile(                                                            \
      DOT_LOOP(four DOT_MOVE(weights, four_bytes),                             \
               one DOT_MOVE(weights, one_bytes), weights)                      \
      : [s0] "+vr"(s0), [s1] "+vr"(s1), [s2] "+vr"(s2), [bytes] "=&vr"(bytes), \
        [w0] "=&r"(w0), [w1] "=&r"(w1), [w2] "=&r"(w2), [from] "+r"(from),     \
        [weights] "+r"(weights)                                                \
      : [vl] "r"(vl), [step] "r"(step), [most] "r"(most), [end] "r"(end)       \
      : "memory", "vl", "vtype")

// Stores the results of the output that is `number` outputs behind the
// target's.
KERNEL_INLINE void store(const params_t *params, const target_t *target,
                         vint32m8_t sums, int number, size_t vl) {
  const ptrdiff_t x = params->result_x;
  const ptrdiff_t at = (ptrdiff_t)number * params->result_o;
  if (target->result == NULL) {
    __riscv_vsse32_v_i32m8(target->sums + at, x * (ptrdiff_t)sizeof(int32_t),
                           sums, vl);
    return;
  }
  const vint32m8_t values =
      scaled(target->how, sums, target->multipliers[number], vl);
  const int32_t shift = target->shifts[number];
  const vint8m2_t bytes =
      target->other == NULL
          ? clipped(target->how, values, shift, vl)
          : added(&target->addition, target->how,
                  __riscv_vssra_vx_i32m8(values, (size_t)shift,
                                         __RISCV_VXRM_RNU, vl),
                  __riscv_vlse8_v_i8m2(target->other + at, x, vl), vl);
  __riscv_vsse8_v_i8m2(target->result + at, x, bytes, vl);
}

// Computes `count` outputs of `vl` windows; returns what follows their weights.
KERNEL_INLINE const int32_t *tile(const params_t *params, const int32_t *planes,
                                  const int32_t *lines, const int32_t *weights,
                                  int count, const target_t *target,
                                  size_t vl) {
  static const int32_t kNoBiases[TILE];
  const int32_t *biases = target->result == NULL ? kNoBiases : target->biases;
  vint32m8_t s0 = __riscv_vmv_v_x_i32m8(biases[0], vl), s1 = s0, s2 = s0, bytes;
  if (count > 1) s1 = __riscv_vmv_v_x_i32m8(biases[1], vl);
  if (count > 2) s2 = __riscv_vmv_v_x_i32m8(biases[2], vl);
  const ptrdiff_t step = params->plane * (ptrdiff_t)sizeof(*planes);
  const ptrdiff_t words =
      (ptrdiff_t)params->tap_columns * params->quads * count;
  const ptrdiff_t whole_words = (ptrdiff_t)params->whole_words * count;
  const int32_t *const behind = lines + params->tap_lines;
  for (; lines != behind; ++lines) {
    const int32_t *from = planes + *lines;
    const int32_t *const most = weights + whole_words;
    const int32_t *const end = weights + words;
    intptr_t w0, w1, w2;
    if (count == 1) {
      ADD_ALL(ADD_1(0) ADD_1(4) ADD_1(8) ADD_1(12), 16, ADD_1(0), 4);
    } else if (count == 2) {
      ADD_ALL(ADD_2(0, 4) ADD_2(8, 12) ADD_2(16, 20) ADD_2(24, 28), 32,
              ADD_2(0, 4), 8);
    } else {
      ADD_ALL(ADD_3(0, 4, 8) ADD_3(12, 16, 20) ADD_3(24, 28, 32)
                  ADD_3(36, 40, 44),
              48, ADD_3(0, 4, 8), 12);
    }
  }
  store(params, target, s0, 0, vl);
  if (count > 1) store(params, target, s1, 1, vl);
  if (count > 2) store(params, target, s2, 2, vl);
  return weights;
}

// The target `count` outputs further.
KERNEL_INLINE void advance(const params_t *params, target_t *target,
                           int count) {
  const ptrdiff_t by = (ptrdiff_t)count * params->result_o;
  if (target->result == NULL) {
    target->sums += by;
    return;
  }
  target->result += by;
  if (target->other != NULL) target->other += by;
  target->biases += count;
  target->multipliers += count;
  target->shifts += count;
}

// Computes all outputs of `vl` windows.
KERNEL_INLINE void outputs(const params_t *params, const int32_t *planes,
                           const int32_t *lines, const int32_t *weights,
                           target_t target, size_t vl) {
  int left = params->outputs;
  for (; left >= TILE; left -= TILE) {
    weights = tile(params, planes, lines, weights, TILE, &target, vl);
    advance(params, &target, TILE);
  }
  if (left == 2) {
    tile(params, planes, lines, weights, 2, &target, vl);
  } else if (left == 1) {
    tile(params, planes, lines, weights, 1, &target, vl);
  }
}

KERNEL_INLINE int run(const params_t *params, const int8_t *image,
                      const int32_t *weights, const int32_t *tap_lines,
                      int32_t *planes, const target_t *target) {
  if (params->padded_width != 0) {
    image = padded(params, image,
                   (int8_t *)(planes + (ptrdiff_t)params->tap_columns *
                                           params->quads * params->plane));
  }
  for (int y = 0; y < params->lines; y += params->block_lines) {
    const int lines = min(params->block_lines, params->lines - y);
    for (int x = 0; x < params->columns; x += params->block_columns) {
      const int columns = min(params->block_columns, params->columns - x);
      sort(params, image, y, x, lines, columns, planes);
      const int windows = lines * columns;
      ptrdiff_t at =
          (ptrdiff_t)y * params->result_y + (ptrdiff_t)x * params->result_x;
      for (int i = 0; i < windows;) {
        const size_t vl = __riscv_vsetvl_e32m8((size_t)(windows - i));
        target_t here = *target;
        if (here.result == NULL) {
          here.sums += at;
        } else {
          here.result += at;
          if (here.other != NULL) here.other += at;
        }
        outputs(params, planes + i, tap_lines, weights, here, vl);
        at += (ptrdiff_t)vl * params->result_x;
        i += (int)vl;
      }
    }
  }
  return 0;
}

DEFINE_WINDOWS(dot_windows, int32_t, int32_t)

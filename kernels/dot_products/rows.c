// Dot products of rows, which are words in memory, with many outputs.
#include <riscv_vector.h>
#include <stddef.h>

#include "kernels/common/requantize.h"
#include "kernels/dot_products/dot_products.h"
#include "kernels/dot_products/instructions.h"

// Rows that are computed at once: three groups of eight registers and the one
// that is multiplied are all there are.
enum { WORD = 4, TILE = 3 };

typedef dot_rows_params_t params_t;

// Where results go: sums if `result` is NULL.
typedef struct target_t {
  int32_t *sums;
  int8_t *result;
  const int32_t *biases, *multipliers, *shifts;
  const requantize_t *how;
} target_t;

// Adds what a word of one to three rows contributes to all outputs.
#define ADD_1(at) DOT_LOAD DOT_ADD(s0, w0, first, at)
#define ADD_2(at) ADD_1(at) DOT_ADD(s1, w1, second, at)
#define ADD_3(at) ADD_2(at) DOT_ADD(s2, w2, third, at)
#define MOVE_1(bytes) DOT_MOVE(first, bytes)
#define MOVE_2(bytes) MOVE_1(bytes) DOT_MOVE(second, bytes)
#define MOVE_3(bytes) MOVE_2(bytes) DOT_MOVE(third, bytes)
#define ADD_ALL(add, move)                                                     \
  __asm__ volatile(                                                            \
      DOT_LOOP(add(0) add(4) add(8) add(12) move(16), add(0) move(4), first)   \
      : [s0] "+vr"(s0), [s1] "+vr"(s1), [s2] "+vr"(s2), [bytes] "=&vr"(bytes), \
        [w0] "=&r"(w0), [w1] "=&r"(w1), [w2] "=&r"(w2), [from] "+r"(from),     \
        [first] "+r"(first), [second] "+r"(second), [third] "+r"(third)        \
      : [vl] "r"(vl), [step] "r"(step), [most] "r"(most), [end] "r"(end)       \
      : "memory", "vl", "vtype")

// Stores the results of one row.
KERNEL_INLINE void store(const target_t *target, vint32m8_t sums, int output,
                         ptrdiff_t at, size_t vl) {
  if (target->result == NULL) {
    __riscv_vse32_v_i32m8(target->sums + at, sums, vl);
    return;
  }
  const vint32m8_t values =
      scaled_each(target->how, sums, target->multipliers + output, vl);
  const vint8m2_t bytes =
      clipped_each(target->how, values, target->shifts + output, vl);
  __riscv_vse8_v_i8m2(target->result + at, bytes, vl);
}

// Computes `vl` outputs of `count` rows.
KERNEL_INLINE void tile(const params_t *params, const int8_t *row,
                        const int32_t *weights, int count, int output,
                        ptrdiff_t at, const target_t *target, size_t vl) {
  vint32m8_t s0 = target->result == NULL
                      ? __riscv_vmv_v_x_i32m8(0, vl)
                      : __riscv_vle32_v_i32m8(target->biases + output, vl);
  vint32m8_t s1 = s0, s2 = s0, bytes;
  const int32_t *from = weights + output;
  const ptrdiff_t step = params->outputs * (ptrdiff_t)sizeof(*weights);
  const int8_t *first = row, *second = first + params->image_x,
               *third = second + params->image_x;
  const int8_t *const most = first + (ptrdiff_t)(params->words & -WORD) * WORD;
  const int8_t *const end = first + (ptrdiff_t)params->words * WORD;
  intptr_t w0, w1, w2;
  if (count == 1) {
    ADD_ALL(ADD_1, MOVE_1);
  } else if (count == 2) {
    ADD_ALL(ADD_2, MOVE_2);
  } else {
    ADD_ALL(ADD_3, MOVE_3);
  }
  const ptrdiff_t x = params->result_x;
  at += output;
  store(target, s0, output, at, vl);
  if (count > 1) store(target, s1, output, at + x, vl);
  if (count > 2) store(target, s2, output, at + 2 * x, vl);
}

KERNEL_INLINE int run(const params_t *params, const int8_t *rows,
                      const int32_t *weights, const target_t *target) {
  const int columns = params->columns, whole = columns / TILE * TILE;
  const ptrdiff_t next = (ptrdiff_t)TILE * params->image_x;
  const ptrdiff_t next_at = (ptrdiff_t)TILE * params->result_x;
  for (int o = 0; o < params->outputs;) {
    const size_t vl = __riscv_vsetvl_e32m8((size_t)(params->outputs - o));
    for (int y = 0; y != params->lines; ++y) {
      const int8_t *row = rows + (ptrdiff_t)y * params->image_y;
      ptrdiff_t at = (ptrdiff_t)y * params->result_y;
      for (int x = 0; x != whole; x += TILE, row += next, at += next_at) {
        tile(params, row, weights, TILE, o, at, target, vl);
      }
      if (columns - whole == 2) {
        tile(params, row, weights, 2, o, at, target, vl);
      } else if (columns != whole) {
        tile(params, row, weights, 1, o, at, target, vl);
      }
    }
    o += (int)vl;
  }
  return 0;
}

int dot_rows(const dot_rows_params_t *params, const int8_t *rows,
             const int32_t *weights, int32_t *sums) {
  const target_t target = {.sums = sums};
  return run(params, rows, weights, &target);
}

int dot_rows_i8(const dot_rows_i8_params_t *params, const int8_t *rows,
                const int32_t *weights, const int32_t *biases,
                const int32_t *multipliers, const int32_t *shifts,
                int8_t *result) {
  requantize_t how = REQUANTIZE(params);
  const target_t target = {.result = result,
                           .biases = biases,
                           .multipliers = multipliers,
                           .shifts = shifts,
                           .how = &how};
  if (!is_plain(&how)) return run(params, rows, weights, &target);
  how = (requantize_t){.is_plain = 1, .zero = params->zero};
  return run(params, rows, weights, &target);
}

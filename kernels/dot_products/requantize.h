// From sums to int8, a group of eight registers at once.
#ifndef KERNELS_DOT_PRODUCTS_REQUANTIZE_H_
#define KERNELS_DOT_PRODUCTS_REQUANTIZE_H_

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_products/dot_products.h"

// Inlined into each caller, so that groups of registers stay what they are.
#define DOT_INLINE static inline __attribute__((always_inline))

// What is the same for all results. A call whose results are scaled to nearest
// and not limited has code of its own: `is_plain` is a constant there.
typedef struct requantize_t {
  int is_plain, up, down, zero, low, high;
} requantize_t;

// `params` are those of a function that ends in _i8.
#define REQUANTIZE(params)     \
  {0,                          \
   (params)->up,               \
   (params)->down_if_negative, \
   (params)->zero,             \
   (params)->low,              \
   (params)->high}

DOT_INLINE int is_plain(const requantize_t *how) {
  return how->up == 0 && how->down == 0 && how->low == INT8_MIN &&
         how->high == INT8_MAX;
}

// Adds to products 1 less where values are negative.
DOT_INLINE vint32m8_t downward(vint32m8_t products, vint32m8_t values,
                               size_t vl) {
  return __riscv_vadd_vv_i32m8(products, __riscv_vsra_vx_i32m8(values, 31, vl),
                               vl);
}

// values * multiplier / 2^31, to nearest.
DOT_INLINE vint32m8_t times(vint32m8_t values, int32_t multiplier, size_t vl) {
  return __riscv_vsmul_vx_i32m8(values, multiplier, __RISCV_VXRM_RNU, vl);
}

// The same, and what else a call says (dot_products.h).
DOT_INLINE vint32m8_t scaled(const requantize_t *how, vint32m8_t values,
                             int32_t multiplier, size_t vl) {
  if (!how->is_plain && how->up != 0) {
    values = __riscv_vsll_vx_i32m8(values, (size_t)how->up, vl);
    return __riscv_vmulh_vx_i32m8(values, multiplier, vl);
  }
  const vint32m8_t products = times(values, multiplier, vl);
  return how->is_plain || !how->down ? products
                                     : downward(products, values, vl);
}

// The same, with a multiplier for each lane.
DOT_INLINE vint32m8_t scaled_each(const requantize_t *how, vint32m8_t values,
                                  const int32_t *multipliers, size_t vl) {
  const vint32m8_t by = __riscv_vle32_v_i32m8(multipliers, vl);
  if (!how->is_plain && how->up != 0) {
    values = __riscv_vsll_vx_i32m8(values, (size_t)how->up, vl);
    return __riscv_vmulh_vv_i32m8(values, by, vl);
  }
  const vint32m8_t products =
      __riscv_vsmul_vv_i32m8(values, by, __RISCV_VXRM_RNU, vl);
  return how->is_plain || !how->down ? products
                                     : downward(products, values, vl);
}

// Values of 16 bits plus `zero`, limited.
DOT_INLINE vint8m2_t limited(const requantize_t *how, vint16m4_t values,
                             size_t vl) {
  values = __riscv_vsadd_vx_i16m4(values, (int16_t)how->zero, vl);
  vint8m2_t bytes = __riscv_vnclip_wx_i8m2(values, 0, __RISCV_VXRM_RNU, vl);
  if (how->is_plain) return bytes;
  bytes = __riscv_vmax_vx_i8m2(bytes, (int8_t)how->low, vl);
  return __riscv_vmin_vx_i8m2(bytes, (int8_t)how->high, vl);
}

// values / 2^shift, to nearest, plus `zero`, limited. It is first limited to 16
// bits, which makes no difference: `zero` is an int8.
DOT_INLINE vint8m2_t clipped(const requantize_t *how, vint32m8_t values,
                             int32_t shift, size_t vl) {
  return limited(
      how, __riscv_vnclip_wx_i16m4(values, (size_t)shift, __RISCV_VXRM_RNU, vl),
      vl);
}

// The same, with a shift for each lane, of which the lower half says all.
DOT_INLINE vint8m2_t clipped_each(const requantize_t *how, vint32m8_t values,
                                  const int32_t *shifts, size_t vl) {
  const vuint16m4_t by = __riscv_vlse16_v_u16m4(
      (const uint16_t *)(const void *)shifts, sizeof(*shifts), vl);
  return limited(how, __riscv_vnclip_wv_i16m4(values, by, __RISCV_VXRM_RNU, vl),
                 vl);
}

// One of two numbers that are added (dot_products.h).
DOT_INLINE vint32m8_t term(vint32m8_t values, int up, int multiplier, int down,
                           int shift, size_t vl) {
  values = __riscv_vsll_vx_i32m8(values, (size_t)up, vl);
  if (multiplier == 0) return values;
  const vint32m8_t products = times(values, multiplier, vl);
  values = down ? downward(products, values, vl) : products;
  return __riscv_vssra_vx_i32m8(values, (size_t)shift, __RISCV_VXRM_RNU, vl);
}

// Adds int8, which are `step` apart, to values that are scaled and to be
// divided by 2^shift.
DOT_INLINE vint8m2_t added(const dot_windows_params_t *params,
                           vint32m8_t values, int32_t shift,
                           const int8_t *others, ptrdiff_t step, size_t vl) {
  const requantize_t total = {.down = params->added_down,
                              .zero = params->added_zero,
                              .low = params->added_low,
                              .high = params->added_high};
  values = __riscv_vssra_vx_i32m8(values, (size_t)shift, __RISCV_VXRM_RNU, vl);
  values = __riscv_vmax_vx_i32m8(values, params->low - params->zero, vl);
  values = __riscv_vmin_vx_i32m8(values, params->high - params->zero, vl);
  values = term(values, params->a_up, params->a_multiplier, params->a_down,
                params->a_shift, vl);
  vint32m8_t b =
      __riscv_vsext_vf4_i32m8(__riscv_vlse8_v_i8m2(others, step, vl), vl);
  b = __riscv_vsub_vx_i32m8(b, params->b_zero, vl);
  b = term(b, params->b_up, params->b_multiplier, params->b_down,
           params->b_shift, vl);
  values = __riscv_vadd_vv_i32m8(values, b, vl);
  values = scaled(&total, values, params->added_multiplier, vl);
  return clipped(&total, values, params->added_shift, vl);
}

#endif  // KERNELS_DOT_PRODUCTS_REQUANTIZE_H_

// From sums to int8, a group of eight registers at once.
#ifndef KERNELS_COMMON_REQUANTIZE_H_
#define KERNELS_COMMON_REQUANTIZE_H_

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

// Inlined into each caller, so that groups of registers stay what they are.
#define KERNEL_INLINE static inline __attribute__((always_inline))

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

KERNEL_INLINE int is_plain(const requantize_t *how) {
  return how->up == 0 && how->down == 0 && how->low == INT8_MIN &&
         how->high == INT8_MAX;
}

// Adds to products 1 less where values are negative.
KERNEL_INLINE vint32m8_t downward(vint32m8_t products, vint32m8_t values,
                                  size_t vl) {
  return __riscv_vadd_vv_i32m8(products, __riscv_vsra_vx_i32m8(values, 31, vl),
                               vl);
}

// values * multiplier / 2^31, to nearest.
KERNEL_INLINE vint32m8_t times(vint32m8_t values, int32_t multiplier,
                               size_t vl) {
  return __riscv_vsmul_vx_i32m8(values, multiplier, __RISCV_VXRM_RNU, vl);
}

// The same, and what else a call says.
KERNEL_INLINE vint32m8_t scaled(const requantize_t *how, vint32m8_t values,
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
KERNEL_INLINE vint32m8_t scaled_each(const requantize_t *how, vint32m8_t values,
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
KERNEL_INLINE vint8m2_t limited(const requantize_t *how, vint16m4_t values,
                                size_t vl) {
  values = __riscv_vsadd_vx_i16m4(values, (int16_t)how->zero, vl);
  vint8m2_t bytes = __riscv_vnclip_wx_i8m2(values, 0, __RISCV_VXRM_RNU, vl);
  if (how->is_plain) return bytes;
  bytes = __riscv_vmax_vx_i8m2(bytes, (int8_t)how->low, vl);
  return __riscv_vmin_vx_i8m2(bytes, (int8_t)how->high, vl);
}

// values / 2^shift, to nearest, plus `zero`, limited. It is first limited to 16
// bits, which makes no difference: `zero` is an int8.
KERNEL_INLINE vint8m2_t clipped(const requantize_t *how, vint32m8_t values,
                                int32_t shift, size_t vl) {
  return limited(
      how, __riscv_vnclip_wx_i16m4(values, (size_t)shift, __RISCV_VXRM_RNU, vl),
      vl);
}

// The same, with a shift for each lane, of which the lower half says all.
KERNEL_INLINE vint8m2_t clipped_each(const requantize_t *how, vint32m8_t values,
                                     const int32_t *shifts, size_t vl) {
  const vuint16m4_t by = __riscv_vlse16_v_u16m4(
      (const uint16_t *)(const void *)shifts, sizeof(*shifts), vl);
  return limited(how, __riscv_vnclip_wv_i16m4(values, by, __RISCV_VXRM_RNU, vl),
                 vl);
}

// How another int8 is added. What was limited so far, less the zero point, is a
// number a; the other one, less b_zero, is b. Each becomes (a << up), and where
// its multiplier is not 0, that is scaled by it as above, with `down` and
// `shift`. Their sum becomes an int8 as above.
typedef struct addition_t {
  int a_up, a_multiplier, a_down, a_shift;
  int b_zero, b_up, b_multiplier, b_down, b_shift;
  int added_multiplier, added_down, added_shift;
  int added_zero, added_low, added_high;
} addition_t;

// `params` are those of a function whose name has `_added`.
#define ADDITION(params)                               \
  {(params)->a_up,         (params)->a_multiplier,     \
   (params)->a_down,       (params)->a_shift,          \
   (params)->b_zero,       (params)->b_up,             \
   (params)->b_multiplier, (params)->b_down,           \
   (params)->b_shift,      (params)->added_multiplier, \
   (params)->added_down,   (params)->added_shift,      \
   (params)->added_zero,   (params)->added_low,        \
   (params)->added_high}

// One of the two numbers.
KERNEL_INLINE vint32m8_t term(vint32m8_t values, int up, int multiplier,
                              int down, int shift, size_t vl) {
  values = __riscv_vsll_vx_i32m8(values, (size_t)up, vl);
  if (multiplier == 0) return values;
  const vint32m8_t products = times(values, multiplier, vl);
  values = down ? downward(products, values, vl) : products;
  return __riscv_vssra_vx_i32m8(values, (size_t)shift, __RISCV_VXRM_RNU, vl);
}

// Adds int8 to values that were scaled, and divided by a power of two.
KERNEL_INLINE vint8m2_t added(const addition_t *addition,
                              const requantize_t *how, vint32m8_t values,
                              vint8m2_t others, size_t vl) {
  const requantize_t total = {.down = addition->added_down,
                              .zero = addition->added_zero,
                              .low = addition->added_low,
                              .high = addition->added_high};
  values = __riscv_vmax_vx_i32m8(values, how->low - how->zero, vl);
  values = __riscv_vmin_vx_i32m8(values, how->high - how->zero, vl);
  values = term(values, addition->a_up, addition->a_multiplier,
                addition->a_down, addition->a_shift, vl);
  vint32m8_t b = __riscv_vsext_vf4_i32m8(others, vl);
  b = __riscv_vsub_vx_i32m8(b, addition->b_zero, vl);
  b = term(b, addition->b_up, addition->b_multiplier, addition->b_down,
           addition->b_shift, vl);
  values = __riscv_vadd_vv_i32m8(values, b, vl);
  values = scaled(&total, values, addition->added_multiplier, vl);
  return clipped(&total, values, addition->added_shift, vl);
}

#endif  // KERNELS_COMMON_REQUANTIZE_H_

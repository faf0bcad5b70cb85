// Products of windows: convolutions and matrix products.
#include <riscv_vector.h>
#include <stddef.h>

#include "kernels/common/windows.h"
#include "kernels/matrix_instructions/instructions.h"
#include "kernels/matrix_instructions/matrix_instructions.h"

// A tile is two halves of 4 pixels for 16 outputs. A half has 64 sums, which
// are one group of eight registers; a step is 8 channels of each.
enum { HALF = 4, PIXELS = 8, OUTPUTS = 16, SUMS = 64, STEP = 8 };

typedef matrix_windows_params_t params_t;

// What is known of each sum of a half: its pixel and output, where its result
// is from the half's first one on, and the numbers of its output.
typedef struct lanes_t {
  uint8_t pixels[SUMS], outputs[SUMS];
  uint32_t places[SUMS];
  int32_t biases[SUMS], multipliers[SUMS], shifts[SUMS];
} lanes_t;

KERNEL_INLINE int max(int a, int b) { return a > b ? a : b; }

static void fill(int8_t *to, int8_t value, ptrdiff_t bytes) {
  while (bytes > 0) {
    const size_t vl = __riscv_vsetvl_e8m8((size_t)bytes);
    __riscv_vse8_v_i8m8(to, __riscv_vmv_v_x_i8m8(value, vl), vl);
    to += vl;
    bytes -= (ptrdiff_t)vl;
  }
}

// Packs up to 8 channels of `pixels`, which are x bytes apart.
static void pack_pixels(const int8_t *from, ptrdiff_t x, ptrdiff_t channel,
                        int channels, int pixels, int8_t *to) {
  while (pixels > 0) {
    const size_t vl = __riscv_vsetvl_e8m1((size_t)pixels);
    vint8m1x8_t bytes;
    if (channels >= STEP && channel == 1) {
      bytes = __riscv_vlsseg8e8_v_i8m1x8(from, x, vl);
    } else {
      // Behind the last channel there may be anything: there, weights are
      // zeros.
      const int last = min(channels, STEP) - 1;
#define CHANNEL(number) \
  __riscv_vlse8_v_i8m1(from + min(number, last) * channel, x, vl)
      bytes = __riscv_vcreate_v_i8m1x8(CHANNEL(0), CHANNEL(1), CHANNEL(2),
                                       CHANNEL(3), CHANNEL(4), CHANNEL(5),
                                       CHANNEL(6), CHANNEL(7));
    }
    __riscv_vsseg8e8_v_i8m1x8(to, bytes, vl);
    from += (ptrdiff_t)vl * x;
    to += (ptrdiff_t)vl * STEP;
    pixels -= (int)vl;
  }
}

// Packs the pixels of the block whose first window is in the line y and in the
// column x.
static void pack(const params_t *params, const int8_t *image, int y, int x,
                 int8_t *to) {
  const int pixels = params->line_pixels, stride = params->stride_x;
  const int8_t filler = (int8_t)params->filler;
  const ptrdiff_t pixel = params->image_pixel, channel = params->image_channel;
  const int top = y * params->stride_y - params->low_y;
  for (int phase = 0; phase != params->phases; ++phase) {
    const int at = x * stride - params->low_x + phase;
    const int first = at < 0 ? min((stride - 1 - at) / stride, pixels) : 0;
    const int behind = (params->width - at + stride - 1) / stride;
    const int last = max(first, min(behind, pixels));
    for (int group = 0; group != params->groups; ++group) {
      const int8_t *from =
          image + group * STEP * channel + (at + first * stride) * pixel;
      for (int line = top; line != top + params->needed; ++line) {
        if ((unsigned)line >= (unsigned)params->height) {
          fill(to, filler, pixels * STEP);
        } else {
          fill(to, filler, first * STEP);
          pack_pixels(from + (ptrdiff_t)line * params->image_line,
                      stride * pixel, channel, params->channels - group * STEP,
                      last - first, to + first * STEP);
          fill(to + last * STEP, filler, (pixels - last) * STEP);
        }
        to += pixels * STEP;
      }
    }
  }
}

// Finds out what is the same for all halves.
static void number_lanes(const params_t *params, lanes_t *lanes) {
  for (int i = 0; i != SUMS; ++i) {
    const int pixel = i / HALF % HALF, output = i / OUTPUTS * HALF + i % HALF;
    lanes->pixels[i] = (uint8_t)pixel;
    lanes->outputs[i] = (uint8_t)output;
    lanes->places[i] =
        (uint32_t)(pixel * params->result_x + output * params->result_o);
  }
}

// Copies to each lane the number of its output, of which `count` are left.
static void spread(const lanes_t *lanes, const int32_t *numbers, int count,
                   int32_t *to) {
  const size_t vl = __riscv_vsetvl_e32m8(SUMS);
  vuint8m2_t outputs = __riscv_vle8_v_u8m2(lanes->outputs, vl);
  outputs =
      __riscv_vminu_vx_u8m2(outputs, (uint8_t)(min(count, OUTPUTS) - 1), vl);
  const vuint8m2_t at = __riscv_vsll_vx_u8m2(outputs, 2, vl);
  __riscv_vse32_v_i32m8(to, __riscv_vluxei8_v_i32m8(numbers, at, vl), vl);
}

// Computes the sums of a tile, both halves, from `biases` on.
KERNEL_INLINE void multiply(const int8_t *pixels, const int8_t *weights,
                            const int32_t *offsets, int steps,
                            const int32_t *biases, int32_t *sums) {
  const int32_t *const end = offsets + steps;
  int32_t *second = sums + SUMS;
  const int8_t *at;
  __asm__ volatile(
      "vl8re32.v v0, (%[biases])\n"
      "vmv8r.v v8, v0\n"
      "vsetvli zero, %[vl], e8, m1, ta, ma\n"
      "1:\n"
      "lw %[at], (%[offsets])\n"
      "vl4re8.v v20, (%[weights])\n"
      "add %[at], %[at], %[pixels]\n"
      "vl2re8.v v16, (%[at])\n"
      "addi %[offsets], %[offsets], 4\n"
      "addi %[weights], %[weights], 128\n"
      // clang-format off
      VMADOT(0, 16, 20) VMADOT(2, 16, 21) VMADOT(4, 16, 22) VMADOT(6, 16, 23)
      VMADOT(8, 17, 20) VMADOT(10, 17, 21) VMADOT(12, 17, 22)
      VMADOT(14, 17, 23)
      // clang-format on
      "bne %[offsets], %[end], 1b\n"
      "vs8r.v v0, (%[sums])\n"
      "vs8r.v v8, (%[second])\n"
      : [at] "=&r"(at), [offsets] "+&r"(offsets), [weights] "+&r"(weights)
      : [pixels] "r"(pixels), [biases] "r"(biases), [end] "r"(end),
        [sums] "r"(sums), [second] "r"(second), [vl] "r"(PIXELS * HALF)
      : "memory", "vl", "vtype", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
        "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
        "v20", "v21", "v22", "v23");
}

// Stores the results of a half for `pixels` and `outputs`.
KERNEL_INLINE void store(const target_t *target, const lanes_t *lanes,
                         const int32_t *sums, int pixels, int outputs,
                         ptrdiff_t at) {
  const size_t vl = __riscv_vsetvl_e32m8(SUMS);
  const vbool4_t is_result = __riscv_vmand_mm_b4(
      __riscv_vmsltu_vx_u8m2_b4(__riscv_vle8_v_u8m2(lanes->pixels, vl),
                                (uint8_t)min(pixels, HALF), vl),
      __riscv_vmsltu_vx_u8m2_b4(__riscv_vle8_v_u8m2(lanes->outputs, vl),
                                (uint8_t)min(outputs, OUTPUTS), vl),
      vl);
  vint32m8_t values = __riscv_vle32_v_i32m8(sums, vl);
  if (target->result == NULL) {
    const vuint32m8_t places =
        __riscv_vsll_vx_u32m8(__riscv_vle32_v_u32m8(lanes->places, vl), 2, vl);
    __riscv_vsuxei32_v_i32m8_m(is_result, target->sums + at, places, values,
                               vl);
    return;
  }
  values = scaled_each(target->how, values, lanes->multipliers, vl);
  vint8m2_t bytes;
  if (target->other == NULL) {
    bytes = clipped_each(target->how, values, lanes->shifts, vl);
  } else {
    const vuint32m8_t shifts = __riscv_vle32_v_u32m8(
        (const uint32_t *)(const void *)lanes->shifts, vl);
    values = __riscv_vssra_vv_i32m8(values, shifts, __RISCV_VXRM_RNU, vl);
    const vint8m2_t others =
        __riscv_vluxei32_v_i8m2_m(is_result, target->other + at,
                                  __riscv_vle32_v_u32m8(lanes->places, vl), vl);
    bytes = added(&target->addition, target->how, values, others, vl);
  }
  __riscv_vsuxei32_v_i8m2_m(is_result, target->result + at,
                            __riscv_vle32_v_u32m8(lanes->places, vl), bytes,
                            vl);
}

// Computes up to 16 outputs of a block of windows, from the output `first` on.
KERNEL_INLINE void outputs(const params_t *params, const int8_t *packed,
                           const int8_t *weights, const int32_t *offsets,
                           int lines, int columns, int left, ptrdiff_t at,
                           const target_t *target, const lanes_t *lanes) {
  int32_t sums[2 * SUMS];
  const ptrdiff_t down =
      (ptrdiff_t)params->stride_y * params->line_pixels * STEP;
  for (int y = 0; y != lines; ++y, packed += down, at += params->result_y) {
    for (int x = 0; x < columns; x += PIXELS) {
      multiply(packed + x * STEP, weights, offsets, params->steps,
               lanes->biases, sums);
      const ptrdiff_t here = at + (ptrdiff_t)x * params->result_x;
      store(target, lanes, sums, columns - x, left, here);
      if (columns - x <= HALF) continue;
      store(target, lanes, sums + SUMS, columns - x - HALF, left,
            here + (ptrdiff_t)HALF * params->result_x);
    }
  }
}

KERNEL_INLINE int run(const params_t *params, const int8_t *image,
                      const int8_t *weights, const int32_t *offsets,
                      int8_t *packed, const target_t *target) {
  lanes_t lanes = {0};
  number_lanes(params, &lanes);
  const ptrdiff_t tile = (ptrdiff_t)params->steps * OUTPUTS * STEP;
  for (int y = 0; y < params->lines; y += params->block_lines) {
    const int lines = min(params->block_lines, params->lines - y);
    for (int x = 0; x < params->columns; x += params->block_columns) {
      const int columns = min(params->block_columns, params->columns - x);
      pack(params, image, y, x, packed);
      const ptrdiff_t at =
          (ptrdiff_t)y * params->result_y + (ptrdiff_t)x * params->result_x;
      for (int o = 0; o < params->outputs; o += OUTPUTS) {
        const int left = params->outputs - o;
        if (target->result != NULL) {
          spread(&lanes, target->biases + o, left, lanes.biases);
          spread(&lanes, target->multipliers + o, left, lanes.multipliers);
          spread(&lanes, target->shifts + o, left, lanes.shifts);
        }
        outputs(params, packed, weights + o / OUTPUTS * tile, offsets, lines,
                columns, left, at + (ptrdiff_t)o * params->result_o, target,
                &lanes);
      }
    }
  }
  return 0;
}

DEFINE_WINDOWS(matrix_windows, int8_t, int8_t)

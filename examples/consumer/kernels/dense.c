#include "kernels/dense.h"

#include <riscv_vector.h>
#include <stddef.h>

int dense(const dense_params_t *params, const float *inputs,
          const float *weights, float *outputs) {
  const size_t stride = (size_t)params->outputs;
  for (size_t done = 0, vl; done < stride; done += vl) {
    vl = __riscv_vsetvl_e32m4(stride - done);
    vfloat32m4_t sums = __riscv_vfmv_v_f_f32m4(0, vl);
    for (int i = 0; i < params->inputs; ++i) {
      const float *row = weights + (size_t)i * stride + done;
      sums = __riscv_vfmacc_vf_f32m4(sums, inputs[i],
                                     __riscv_vle32_v_f32m4(row, vl), vl);
    }
    __riscv_vse32_v_f32m4(outputs + done, sums, vl);
  }
  return 0;
}

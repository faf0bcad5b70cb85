#include "kernels/openblas/openblas.h"

// As in cblas.h, which Debian installs beside the archive.
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };
extern void cblas_sgemm(int order, int transpose_a, int transpose_b, int m,
                        int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);

int openblas_product(const openblas_product_params_t *params, const float *a,
                     const float *b, float *result) {
  for (int i = 0; i != params->batch; ++i) {
    cblas_sgemm(ROW_MAJOR, params->a_by_columns ? TRANSPOSED : NOT_TRANSPOSED,
                params->b_by_columns ? TRANSPOSED : NOT_TRANSPOSED,
                params->rows, params->columns, params->terms, 1.0f,
                a + (long)i * params->a_batch, params->a_stride,
                b + (long)i * params->b_batch, params->b_stride, 0.0f,
                result + (long)i * params->result_batch, params->result_stride);
  }
  return 0;
}

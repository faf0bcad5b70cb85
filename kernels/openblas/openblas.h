// Matrix products of OpenBLAS, for the build for x86-64.
#ifndef KERNELS_OPENBLAS_OPENBLAS_H_
#define KERNELS_OPENBLAS_OPENBLAS_H_

// result[row, column] = sum of a[row, term] * b[term, column], for each of
// `batch` pairs of matrices. A matrix is stored row by row, or column by
// column; `*_stride` is from one to the next, in elements.
typedef struct openblas_product_params_t {
  int batch;
  int rows;
  int columns;
  int terms;
  int a_by_columns;
  int b_by_columns;
  int a_stride;
  int b_stride;
  int result_stride;
  int a_batch;
  int b_batch;
  int result_batch;
} openblas_product_params_t;

int openblas_product(const openblas_product_params_t *params, const float *a,
                     const float *b, float *result);

#endif  // KERNELS_OPENBLAS_OPENBLAS_H_

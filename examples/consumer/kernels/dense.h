// A kernel of our own: fully connected layers of few inputs.
#ifndef KERNELS_DENSE_H_
#define KERNELS_DENSE_H_

// Numbers that the build knows.
typedef struct dense_params_t {
  int inputs;
  int outputs;
} dense_params_t;

// outputs[o] = sum over i of inputs[i] * weights[i][o]. Returns 0.
int dense(const dense_params_t *params, const float *inputs,
          const float *weights, float *outputs);

#endif  // KERNELS_DENSE_H_

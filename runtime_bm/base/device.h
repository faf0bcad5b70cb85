// A device that computes kernels, for those who measure it.
#ifndef RUNTIME_BM_BASE_DEVICE_H_
#define RUNTIME_BM_BASE_DEVICE_H_

#include <stdint.h>

// What it did since the image booted.
typedef struct bm_device_use_t {
  uint64_t busy;    // its cycles in which it worked
  uint64_t waited;  // instructions of the hart that only waited for it
} bm_device_use_t;

// The driver of device `x` defines one, bm_device_x_use. It may be called while
// the device works; then only `waited` counts.
typedef bm_device_use_t (*bm_device_use_function_t)(void);

#endif  // RUNTIME_BM_BASE_DEVICE_H_

// Element types of tensors. The numbers are part of the plan ABI
// (runtime_bm/plan/plan_abi.json).
#ifndef RUNTIME_BM_BASE_DTYPE_H_
#define RUNTIME_BM_BASE_DTYPE_H_

#include <stdint.h>

typedef enum bm_dtype_t {
  BM_DTYPE_BOOL = 1,
  BM_DTYPE_I8 = 2,
  BM_DTYPE_U8 = 3,
  BM_DTYPE_I16 = 4,
  BM_DTYPE_U16 = 5,
  BM_DTYPE_I32 = 6,
  BM_DTYPE_U32 = 7,
  BM_DTYPE_I64 = 8,
  BM_DTYPE_U64 = 9,
  BM_DTYPE_F16 = 10,
  BM_DTYPE_BF16 = 11,
  BM_DTYPE_F32 = 12,
  BM_DTYPE_F64 = 13,
} bm_dtype_t;

// Bytes of one element, or 0 when `dtype` is not a bm_dtype_t.
static inline uint32_t bm_dtype_bytes(uint32_t dtype) {
  static const uint8_t kBytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return dtype <= BM_DTYPE_F64 ? kBytes[dtype] : 0;
}

#endif  // RUNTIME_BM_BASE_DTYPE_H_

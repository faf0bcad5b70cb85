// The extensions a hart needs to run a model's kernels, as bits. The numbers
// are part of the plan ABI (runtime_bm/plan/plan_abi.json).
#ifndef RUNTIME_BM_BASE_ISA_H_
#define RUNTIME_BM_BASE_ISA_H_

enum {
  BM_ISA_RV64 = 1,
  BM_ISA_V = 2,
  BM_ISA_X86_64 = 4,
  BM_ISA_RV32 = 8,
  // Vectors of integers and floats of up to 32 bits; V includes them.
  BM_ISA_ZVE32F = 16,
  // Packed integers in the integer registers.
  BM_ISA_P = 32,
  // Dot products of four bytes in each 32-bit lane of a vector.
  BM_ISA_ZVDOT4A8I = 64,
  // Floats of 16 bits in scalar and vector registers.
  BM_ISA_ZVFH = 128,
  // Products of 4x8 and 8x4 bytes in vectors of 256 bits: SpacemiT's XSMTVDot.
  BM_ISA_XSMTVDOT = 256,
  // bfloat16 in scalar and vector registers, which becomes and is made of f32.
  BM_ISA_ZVFBFMIN = 512,
  // Products of bfloat16 that are added to f32.
  BM_ISA_ZVFBFWMA = 1024,
};

#endif  // RUNTIME_BM_BASE_ISA_H_

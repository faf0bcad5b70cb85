// The instructions of P that the kernels here use, as numbers: the compiler
// does not know them. Draft 0.18 of the packed-SIMD extension, RV64. A register
// is eight bytes, four halfwords or two words.
#ifndef KERNELS_PACKED_SIMD_INSTRUCTIONS_H_
#define KERNELS_PACKED_SIMD_INSTRUCTIONS_H_

#include <stdint.h>

// Inlined into each caller, so that what is the same for all results stays in
// registers: the compiler must suppose that a store of bytes changes anything.
#define PACKED_INLINE static inline __attribute__((always_inline))

// An instruction with three registers: opcode, and functions of 3 and 7 bits.
#define PACKED_INSTRUCTION(name, opcode, funct3, funct7)                \
  PACKED_INLINE uint64_t name(uint64_t a, uint64_t b) {                 \
    uint64_t result;                                                    \
    __asm__(".insn r " #opcode ", " #funct3 ", " #funct7 ", %0, %1, %2" \
            : "=r"(result)                                              \
            : "r"(a), "r"(b));                                          \
    return result;                                                      \
  }

// Each word of `sums`, plus the products of four pairs of signed bytes.
PACKED_INLINE uint64_t pm4adda_b(uint64_t sums, uint64_t a, uint64_t b) {
  __asm__(".insn r 0x3b, 5, 0x46, %0, %1, %2" : "+r"(sums) : "r"(a), "r"(b));
  return sums;
}

// Bytes or halfwords of a and b in turn, of their lower or upper halves.
PACKED_INSTRUCTION(zip8p, 0x3b, 2, 0x78)
PACKED_INSTRUCTION(zip16p, 0x3b, 2, 0x79)
PACKED_INSTRUCTION(zip8hp, 0x3b, 2, 0x7a)
PACKED_INSTRUCTION(zip16hp, 0x3b, 2, 0x7b)
// Every other byte or halfword of a, then of b.
PACKED_INSTRUCTION(unzip8p, 0x3b, 2, 0x70)
PACKED_INSTRUCTION(unzip16p, 0x3b, 2, 0x71)
// Of each pair, the lower element of a and the lower element of b.
PACKED_INSTRUCTION(ppaire_b, 0x3b, 4, 0x40)
PACKED_INSTRUCTION(ppaire_h, 0x3b, 4, 0x41)
PACKED_INSTRUCTION(pack, 0x33, 4, 0x04)
// The lower word of a and the upper one of b, and both upper ones.
PACKED_INSTRUCTION(ppaireo_w, 0x3b, 4, 0x4b)
PACKED_INSTRUCTION(ppairo_w, 0x3b, 4, 0x5b)
// Sums of words, which wrap or saturate, and limits.
PACKED_INSTRUCTION(padd_w, 0x3b, 0, 0x41)
PACKED_INSTRUCTION(psadd_w, 0x3b, 0, 0x49)
PACKED_INSTRUCTION(pmin_w, 0x3b, 6, 0x71)
PACKED_INSTRUCTION(pmax_w, 0x3b, 6, 0x79)
// Products of words, divided by 2^31, to nearest.
PACKED_INSTRUCTION(pmulqr_w, 0x3b, 7, 0x6b)
// Words of a times 2 to the power of the last byte of b, to nearest.
PACKED_INSTRUCTION(psshar_ws, 0x1b, 2, 0x7d)

// The sign of each word, in all its bits: psrai.w by 31.
PACKED_INLINE uint64_t packed_signs(uint64_t a) {
  uint64_t result;
  __asm__(".insn r 0x1b, 4, 0x61, %0, %1, x31" : "=r"(result) : "r"(a));
  return result;
}

#endif  // KERNELS_PACKED_SIMD_INSTRUCTIONS_H_

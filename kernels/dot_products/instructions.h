// The instruction of Zvqdotq that the kernels here use, as a number: the
// compiler does not know it. Each 32-bit lane of a register has four bytes.
#ifndef KERNELS_DOT_PRODUCTS_INSTRUCTIONS_H_
#define KERNELS_DOT_PRODUCTS_INSTRUCTIONS_H_

// Each lane of the vector `sums`, plus the products of the signed bytes of
// `bytes`, a vector, with those of `word`, an integer register.
#define VQDOT_VX(sums, word, bytes) \
  ".insn r 0x57, 6, 0x59, " sums ", " word ", " bytes "\n"

#endif  // KERNELS_DOT_PRODUCTS_INSTRUCTIONS_H_

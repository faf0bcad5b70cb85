// The instruction of Zvdot4a8i that the kernels here use, as a number: the
// compiler does not know it. Each 32-bit lane of a register has four bytes.
#ifndef KERNELS_DOT_PRODUCTS_INSTRUCTIONS_H_
#define KERNELS_DOT_PRODUCTS_INSTRUCTIONS_H_

// Each lane of the vector `sums`, plus the products of the signed bytes of
// `bytes`, a vector, with those of `word`, an integer register.
#define VDOT4A_VX(sums, word, bytes) \
  ".insn r 0x57, 6, 0x59, " sums ", " word ", " bytes "\n"

// What follows is the text of one statement of assembly, because the compiler
// would store groups of registers and load them again between instructions. It
// has the operands s0, s1 and s2, up to three sums, each of eight registers;
// bytes, eight more, which are loaded; w0, w1 and w2, words; from, what is
// loaded, and step, from one load to the next.
#define DOT_LOAD                  \
  "vle32.v %[bytes], (%[from])\n" \
  "add %[from], %[from], %[step]\n"

// Adds to sums the products with the word that is `at` bytes behind a pointer.
#define DOT_ADD(sums, word, pointer, at) \
  "lw %[" #word "], " #at "(%[" #pointer \
  "])\n" VDOT4A_VX("%[" #sums "]", "%[" #word "]", "%[bytes]")

// Runs `four` up to where the pointer is `most`, and then `one` up to `end`.
// Both move it. There are vl lanes.
#define DOT_LOOP(four, one, pointer)       \
  "vsetvli zero, %[vl], e32, m8, ta, ma\n" \
  "beq %[" #pointer                        \
  "], %[most], 2f\n"                       \
  "1:\n" four "bne %[" #pointer            \
  "], %[most], 1b\n"                       \
  "2:\n"                                   \
  "beq %[" #pointer                        \
  "], %[end], 4f\n"                        \
  "3:\n" one "bne %[" #pointer             \
  "], %[end], 3b\n"                        \
  "4:\n"

#define DOT_MOVE(pointer, bytes) \
  "addi %[" #pointer "], %[" #pointer "], " #bytes "\n"

#endif  // KERNELS_DOT_PRODUCTS_INSTRUCTIONS_H_

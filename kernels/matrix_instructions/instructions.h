// The instruction of XSMTVDot that the kernels here use, as a number: the
// compiler does not know it.
#ifndef KERNELS_MATRIX_INSTRUCTIONS_INSTRUCTIONS_H_
#define KERNELS_MATRIX_INSTRUCTIONS_INSTRUCTIONS_H_

// smt.vmadot: `sums`, the even number of the first of two registers, are 4x4
// words, row after row. To each are added the products of 8 signed bytes of a
// row of `rows` with 8 of a column of `columns`. There are 4 of both, one after
// the other in a register. Needs vl = 32 and SEW = 8, and vectors of 256 bits.
#define VMADOT(sums, rows, columns) \
  ".insn r 0x2b, 3, 0x71, x" #sums ", x" #rows ", x" #columns "\n"

#endif  // KERNELS_MATRIX_INSTRUCTIONS_INSTRUCTIONS_H_

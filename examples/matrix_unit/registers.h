// Registers of the matrix unit, for its driver and its model: words of 32 bits,
// by their offset. README.md explains them.
#ifndef EXAMPLES_MATRIX_UNIT_REGISTERS_H_
#define EXAMPLES_MATRIX_UNIT_REGISTERS_H_

enum {
  MATRIX_UNIT_STATE = 0x00,   // read: matrix_unit_state_t
  MATRIX_UNIT_RESET = 0x04,   // write: ends everything
  MATRIX_UNIT_SUBMIT = 0x08,  // write: begins a product, if the unit is idle
  MATRIX_UNIT_BUSY = 0x10,    // read: cycles since the reset, low and high word
  // Low and high word of the addresses of a product_t and of the operands.
  MATRIX_UNIT_PRODUCT = 0x20,
  MATRIX_UNIT_OPERANDS = 0x28,
  MATRIX_UNIT_BYTES = 0x1000,
};

// Operands, in this order. A product without biases has sums as its result.
enum {
  MATRIX_UNIT_IMAGE,
  MATRIX_UNIT_WEIGHTS,
  MATRIX_UNIT_BIASES,
  MATRIX_UNIT_MULTIPLIERS,
  MATRIX_UNIT_SHIFTS,
  MATRIX_UNIT_RESULT,
  MATRIX_UNIT_OPERAND_COUNT,
};

typedef enum matrix_unit_state_t {
  MATRIX_UNIT_IDLE,
  MATRIX_UNIT_WORKS,
  MATRIX_UNIT_BAD_ADDRESS,  // an operand is not in memory
  MATRIX_UNIT_BROKEN,       // the unit itself
} matrix_unit_state_t;

#endif  // EXAMPLES_MATRIX_UNIT_REGISTERS_H_

// Registers and jobs of the matrix unit; README.md is its specification. The
// driver and the device model both include this.
#ifndef KERNELS_MATRIX_UNIT_REGISTERS_H_
#define KERNELS_MATRIX_UNIT_REGISTERS_H_

enum {
  MATRIX_UNIT_ID_VALUE = 0x4d583031,
  MATRIX_UNIT_SCRATCHPAD_BYTES = 64 * 1024,
  // Bytes of its registers.
  MATRIX_UNIT_BYTES = 4096,
  // Lists that may wait or run at once, and addresses that a list has.
  MATRIX_UNIT_LISTS = 4,
  MATRIX_UNIT_BASES = 6,
  // Words of 32 bits: of a list's shape, and of each job behind it.
  MATRIX_UNIT_SHAPE_WORDS = 16,
  MATRIX_UNIT_JOB_WORDS = 8,
};

// Registers of 32 bits, by their offset. Only aligned words are read and
// written.
enum {
  MATRIX_UNIT_ID = 0x00,         // read: MATRIX_UNIT_ID_VALUE
  MATRIX_UNIT_RESET = 0x04,      // write: ends everything, clears all others
  MATRIX_UNIT_SUBMIT = 0x08,     // write: the number of jobs of the list
  MATRIX_UNIT_SUBMITTED = 0x0c,  // read: lists so far, wraps around
  MATRIX_UNIT_ENDED = 0x10,      // read: lists that have ended
  MATRIX_UNIT_ERROR = 0x14,      // read: matrix_unit_error_t
  MATRIX_UNIT_ERROR_JOB = 0x18,  // read: the number of the job at fault
  MATRIX_UNIT_LIST = 0x20,       // the list's address: low word, high word
  MATRIX_UNIT_BASE = 0x40,       // likewise, 8 bytes for each base
  // Read: cycles since the reset, low and high word: in which a product was
  // computed, in which memory was copied, and in which either was.
  MATRIX_UNIT_MULTIPLIED = 0x80,
  MATRIX_UNIT_COPIED = 0x88,
  MATRIX_UNIT_BUSY = 0x90,
};

typedef enum matrix_unit_error_t {
  MATRIX_UNIT_OK = 0,
  MATRIX_UNIT_BAD_ADDRESS = 1,  // neither memory nor scratchpad
  MATRIX_UNIT_BAD_SIZE = 2,     // nothing to do, or more than there is
  MATRIX_UNIT_BAD_JOB = 3,      // no such kind, base, mode or predecessor
  MATRIX_UNIT_QUEUE_FULL = 4,
  MATRIX_UNIT_BROKEN = 5,  // the device itself
} matrix_unit_error_t;

// Words of the shape.
enum {
  MATRIX_UNIT_COLUMNS,
  MATRIX_UNIT_IMAGE_Y,
  MATRIX_UNIT_IMAGE_X,
  MATRIX_UNIT_IMAGE_OUTPUT,
  MATRIX_UNIT_TAP_LINES,
  MATRIX_UNIT_TAP_COLUMNS,
  MATRIX_UNIT_RUN,
  MATRIX_UNIT_IMAGE_TAP_Y,
  MATRIX_UNIT_IMAGE_TAP_X,
  MATRIX_UNIT_MODE,
  MATRIX_UNIT_ZERO,
  MATRIX_UNIT_LOW,
  MATRIX_UNIT_HIGH,
};

// MATRIX_UNIT_MODE: what is stored of a sum.
enum {
  MATRIX_UNIT_SUMS = 0,       // all of it
  MATRIX_UNIT_INT8 = 1,       // requantized
  MATRIX_UNIT_INT8_DOWN = 2,  // likewise, 1 less before the shift if negative
};

// Words of every job; `after` counts jobs of the other queue.
enum { MATRIX_UNIT_KIND, MATRIX_UNIT_AFTER };

// MATRIX_UNIT_KIND. The first two are jobs of the DMA queue.
enum { MATRIX_UNIT_LOAD, MATRIX_UNIT_STORE, MATRIX_UNIT_MULTIPLY };

// Words of a LOAD, from memory to the scratchpad, or of a STORE.
enum {
  MATRIX_UNIT_COPY_BASE = 2,
  MATRIX_UNIT_COPY_OFFSET,
  MATRIX_UNIT_COPY_PLACE,
  MATRIX_UNIT_COPY_BYTES,
  MATRIX_UNIT_COPY_LINES,
  MATRIX_UNIT_COPY_STEP,
};

// Words of a MULTIPLY: places in the scratchpad, and what the shape leaves
// open.
enum {
  MATRIX_UNIT_IMAGE = 2,
  MATRIX_UNIT_WEIGHTS,
  MATRIX_UNIT_NUMBERS,
  MATRIX_UNIT_RESULT,
  MATRIX_UNIT_LINES,
  MATRIX_UNIT_OUTPUTS,
};

#endif  // KERNELS_MATRIX_UNIT_REGISTERS_H_

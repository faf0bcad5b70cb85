// Products of int8 on the dot unit.
#ifndef EXAMPLES_VEXRISCV_DOT_UNIT_DOT_UNIT_H_
#define EXAMPLES_VEXRISCV_DOT_UNIT_DOT_UNIT_H_

#include <stdint.h>

// Windows of `words` words, up to 256, and the bytes from one line of windows,
// and from one column, to the next.
typedef struct dot_unit_sums_params_t {
  int lines;
  int columns;
  int line_step;
  int column_step;
  int words;
  int outputs;
} dot_unit_sums_params_t;

// sums[line][column][output] = sum of the window's bytes times the output's
// weights, which are [output][byte]. Image, steps and weights are aligned to
// words. Returns 0, and 1 if the unit does not end in time.
int dot_unit_sums(const dot_unit_sums_params_t *params, const int8_t *image,
                  const int8_t *weights, int32_t *sums);

#endif  // EXAMPLES_VEXRISCV_DOT_UNIT_DOT_UNIT_H_
